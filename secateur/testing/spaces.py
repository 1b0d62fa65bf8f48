"""The contract of every Space, as a test class: subclass it and give `space` as a fixture.

    @pytest.fixture(params=[Small(SHAPE), Small(SHAPE, heads="1..2")], ids=str)
    def space(request):
        return request.param

    class TestContract(SpaceContract):
        pass

Spaces given should be small enough to enumerate (a few thousand points).
"""

from __future__ import annotations

import json

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.product import ProductSpace
from secateur.spaces.pruning import Plan, PruningSpace

DRAWS = 50


def _differing(space: Space, a: Architecture, b: Architecture) -> int:
    """In how many dimensions two architectures differ."""
    return int(np.sum(space.encode(a) != space.encode(b)))


def _points(space: Space) -> list[Architecture]:
    """Every point, those of equal networks too: what steps to neighbours lead to."""
    found = {space.smallest(): None}
    waiting = [space.smallest()]
    while waiting:
        new = [b for b in space.neighbours(waiting.pop()) if b not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


class SpaceContract:
    """What searchers rely on, whatever the space."""

    def test_samples_lie_inside_and_follow_the_seed(self, space: Space) -> None:
        draws = [[space.sample(generator(s, i)) for i in range(DRAWS)] for s in (0, 0, 1)]
        assert all(space.contains(a) for a in draws[0])
        assert draws[0] == draws[1]
        assert space.size() == 1 or draws[0] != draws[2]

    def test_sampling_many_is_repeatable(self, space: Space) -> None:
        many = space.sample_many(DRAWS, generator(0))
        assert len(many) == DRAWS
        assert all(space.contains(a) for a in many)
        assert many == space.sample_many(DRAWS, generator(0))
        assert space.sample_many(0, generator(0)) == []

    def test_the_neighbours_of_neighbours_are_the_whole_space(self, space: Space) -> None:
        points = _points(space)
        assert len(points) == space.size()
        assert all(space.contains(a) for a in points)
        assert set(space.sample_many(DRAWS, generator(0))) <= set(points)

    def test_every_network_is_listed_once(self, space: Space) -> None:
        listed = list(space.every())
        keys = [a.key for a in listed]
        assert len(set(keys)) == len(keys), "a key is listed twice"
        assert set(listed) <= set(_points(space))
        assert set(keys) == {a.key for a in _points(space)}, "a network is not listed"
        assert set(keys) == {a.key for a in Space.every(space)}
        assert listed == list(space.every())

    def test_a_search_starts_inside_and_follows_the_seed(self, space: Space) -> None:
        starts = [[space.start(generator(s, i)) for i in range(5)] for s in (0, 0)]
        assert starts[0] == starts[1]
        assert all(space.contains(a) for a in starts[0])

    def test_mutation_gives_another_point(self, space: Space) -> None:
        rng = generator(1)
        for a in space.sample_many(DRAWS, rng):
            before = a.to_json()
            for probability in (None, 0.3, 1.0):
                b = space.mutate(a, rng, probability)
                assert space.contains(b)
                assert (a != b) == (space.size() > 1)
                assert a.to_json() == before, "the parent was changed"

    def test_mutation_follows_the_seed(self, space: Space) -> None:
        a = space.largest()
        for probability in (None, 0.5):
            runs = [[space.mutate(a, generator(s, i), probability) for i in range(DRAWS)] for s in (0, 0)]
            assert runs[0] == runs[1]

    def test_mutation_wants_a_probability(self, space: Space) -> None:
        for wrong in (0.0, -0.1, 1.5) if space.size() > 1 else ():
            message = ""
            try:
                space.mutate(space.largest(), generator(0), wrong)
            except ConfigurationError as refusal:
                message = str(refusal)
            assert "`probability` must be above 0 and at most 1" in message, f"a probability of {wrong} was taken"

    def test_mutation_reaches_every_neighbour(self, space: Space) -> None:
        a = space.largest()
        neighbours = set(space.neighbours(a))
        rng = generator(2)
        if neighbours:
            assert {space.mutate(a, rng) for _ in range(60 * len(neighbours))} >= neighbours

    def test_children_lie_inside_and_follow_the_seed(self, space: Space) -> None:
        rng = generator(3)
        for a, b in zip(space.sample_many(DRAWS, rng), space.sample_many(DRAWS, rng), strict=True):
            child = space.crossover(a, b, generator(4))
            assert space.contains(child)
            assert child == space.crossover(a, b, generator(4))
            assert space.crossover(a, a, rng) == a

    def test_neighbours_are_other_points_each_once(self, space: Space) -> None:
        for a in space.sample_many(5, generator(4)):
            neighbours = list(space.neighbours(a))
            assert len(set(neighbours)) == len(neighbours)
            assert a not in neighbours
            assert all(space.contains(b) for b in neighbours)

    def test_smallest_and_largest_lie_inside(self, space: Space) -> None:
        assert space.contains(space.smallest())
        assert space.contains(space.largest())
        assert (space.smallest() == space.largest()) == (space.size() == 1)

    def test_encodings_lie_in_the_unit_cube_and_tell_points_apart(self, space: Space) -> None:
        every = _points(space)
        encoded = space.encode_many(every)
        assert encoded.shape == (len(every), space.dimensions)
        assert encoded.dtype == np.float64
        assert encoded.min() >= 0
        assert encoded.max() <= 1
        assert len(np.unique(encoded, axis=0)) == len(every)
        assert np.array_equal(encoded, np.stack([space.encode(a) for a in every]))
        assert space.encode_many([]).shape == (0, space.dimensions)

    def test_json_round_trip(self, space: Space) -> None:
        for a in space.sample_many(DRAWS, generator(5)):
            b = Architecture.from_json(a.to_json())
            assert a == b
            assert hash(a) == hash(b)
            assert space.contains(b)
            assert space.make(json.loads(a.to_json())["choices"]) == a

    def test_another_space_holds_none_of_it(self, space: Space) -> None:
        a = space.largest()
        assert not space.contains(Architecture("elsewhere", a.choices, a.key))
        assert not space.contains(Architecture(space.name, (), a.key))


class ProductSpaceContract(SpaceContract):
    """What holds as well where every dimension is free of the others."""

    def test_mutation_changes_exactly_one_dimension(self, space: ProductSpace) -> None:
        rng = generator(1)
        for a in space.sample_many(DRAWS, rng):
            before = a.to_json()
            b = space.mutate(a, rng)
            assert space.contains(b)
            assert _differing(space, a, b) == (1 if space.size() > 1 else 0)
            assert a.to_json() == before, "the parent was changed"

    def test_mutation_with_certainty_changes_every_dimension(self, space: ProductSpace) -> None:
        free = sum(len(d) > 1 for d in space.domains)
        for a in space.sample_many(DRAWS, generator(8)):
            assert _differing(space, a, space.mutate(a, generator(9), 1.0)) == free

    def test_mutation_reaches_nothing_but_neighbours(self, space: ProductSpace) -> None:
        a = space.largest()
        neighbours = set(space.neighbours(a))
        rng = generator(2)
        if neighbours:
            assert {space.mutate(a, rng) for _ in range(60 * len(neighbours))} <= neighbours

    def test_children_take_each_dimension_from_a_parent(self, space: ProductSpace) -> None:
        rng = generator(3)
        for a, b in zip(space.sample_many(DRAWS, rng), space.sample_many(DRAWS, rng), strict=True):
            child = space.crossover(a, b, rng)
            x, y, z = (space.encode(c) for c in (a, b, child))
            assert space.contains(child)
            assert np.all((z == x) | (z == y))

    def test_neighbours_differ_in_one_dimension_each_once(self, space: ProductSpace) -> None:
        a = space.sample(generator(4))
        neighbours = list(space.neighbours(a))
        assert len(set(neighbours)) == len(neighbours)
        assert set(neighbours) == {b for b in _points(space) if _differing(space, a, b) == 1}

    def test_smallest_and_largest_are_the_corners(self, space: ProductSpace) -> None:
        every = space.encode_many(_points(space))
        assert np.array_equal(space.encode(space.smallest()), every.min(axis=0))
        assert np.array_equal(space.encode(space.largest()), every.max(axis=0))

    def test_indices_round_trip(self, space: ProductSpace) -> None:
        for a in space.sample_many(DRAWS, generator(7)):
            assert space.from_indices(space.indices(a)) == a


class PruningSpaceContract(ProductSpaceContract):
    """What the supernet relies on as well."""

    def test_equal_keys_are_equal_plans(self, space: PruningSpace) -> None:
        plans: dict[str, Plan] = {}
        for a in _points(space):
            plan = space.plan(a)
            plan.check(space.shape)
            assert plan.key == a.key
            assert plans.setdefault(a.key, plan) == plan
        assert len(set(plans.values())) == len(plans)

    def test_a_search_starts_at_the_upper_bound(self, space: PruningSpace) -> None:
        assert space.start(generator(0)) == space.largest()

    def test_plans_survive_json(self, space: PruningSpace) -> None:
        for a in space.sample_many(DRAWS, generator(6)):
            plan = space.plan(a)
            assert type(plan).from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
