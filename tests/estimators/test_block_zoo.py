from __future__ import annotations

import pytest
import torch
from torch import nn

from secateur.errors import BoundError, ConfigurationError, EvaluationFailure, StudyError
from secateur.estimators.block_zoo.distil import distil_block
from secateur.estimators.block_zoo.estimator import BlockZooEstimator
from secateur.estimators.block_zoo.reference import reference, state_digest
from secateur.estimators.block_zoo.remapping import remap
from secateur.estimators.block_zoo.zoo import BlockZoo, ZooSettings, recalibrate
from secateur.estimators.image_cost import ImageCost
from secateur.images import Stage, build
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.runs.bounds import check_bounds
from secateur.search import LocalSearch
from secateur.spaces.mobilenet import Mobilenet, architecture, expansions_of
from secateur.spaces.mobilenet_sizes import ImageSizes
from secateur.study import Stop, Study, create_store
from secateur.tasks import load_images
from secateur.testing.estimators import EstimatorContract
from secateur.training.images import ImageTraining, score_images

SPACE = Mobilenet(stages=2, layers="1..2", expansion=(2, 4))
SIZES = ImageSizes(
    image=(1, 8, 8), classes=10, widths=(8, 16), strides=(2, 1), stem=8, head=32, squeeze=(False, True), swish=(False, True)
)
TRAINING = ImageTraining(epochs=4, batch=50, learning_rate=0.1)


@pytest.fixture(scope="module")
def data():
    return load_images("digits", max_train=500, max_validation=100, max_test=300)


@pytest.fixture(scope="module")
def teacher(data):
    return reference(SPACE, SIZES, data, TRAINING)


@pytest.fixture(scope="module")
def batches(data):
    drawn = torch.Generator().manual_seed(0)
    return list(data.batches("train", 50, generator=drawn))[:8]


@pytest.fixture
def zoo(teacher, batches):
    return BlockZoo(teacher, batches)


def same(one: nn.Module, other: nn.Module) -> bool:
    a, b = one.state_dict(), other.state_dict()
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("order", ["first", "importance"])
def test_a_remapped_network_of_full_size_is_the_reference(teacher, batches, order):
    zoo = BlockZoo(teacher, batches, ZooSettings(remap=order, distil=False))
    whole = zoo.assemble(SPACE.largest(), recalibrated=False)
    assert same(whole, teacher)
    pixels = batches[0]["pixel_values"]
    with torch.no_grad():
        assert torch.equal(whole(pixels), teacher(pixels))


def test_first_channels_by_index_arithmetic(teacher):
    """Stage 2 of one layer with expansion 2: 8 channels in, 16 of the reference's 32 inside, 4 of 8 squeezed."""
    block = Stage(SIZES.layers(1, (2,)))
    remap(teacher.stages[1], block)
    small, large = block[0].state_dict(), teacher.stages[1][0].state_dict()
    sliced = {
        "expand.weight": large["expand.weight"][:16],
        "depthwise.weight": large["depthwise.weight"][:16],
        "squeeze.reduce.weight": large["squeeze.reduce.weight"][:4, :16],
        "squeeze.reduce.bias": large["squeeze.reduce.bias"][:4],
        "squeeze.expand.weight": large["squeeze.expand.weight"][:16, :4],
        "squeeze.expand.bias": large["squeeze.expand.bias"][:16],
        "project.weight": large["project.weight"][:, :16],
    }
    for name in ("weight", "bias", "running_mean", "running_var"):
        sliced[f"expand_norm.{name}"] = large[f"expand_norm.{name}"][:16]
        sliced[f"depthwise_norm.{name}"] = large[f"depthwise_norm.{name}"][:16]
        sliced[f"project_norm.{name}"] = large[f"project_norm.{name}"]
    for norm in ("expand_norm", "depthwise_norm", "project_norm"):
        sliced[f"{norm}.num_batches_tracked"] = large[f"{norm}.num_batches_tracked"]
    assert set(sliced) == set(small)
    assert all(torch.equal(small[name], sliced[name]) for name in small)


def test_a_remapped_layer_is_the_reference_with_the_other_channels_silenced(teacher, batches):
    """Without squeeze, leaving channels out is the same as giving them no outgoing weight."""
    block = Stage(SIZES.layers(0, (2,))).eval()
    remap(teacher.stages[0], block)
    silenced = build(SPACE.largest(), SIZES).stages[0]
    silenced.load_state_dict(teacher.stages[0].state_dict())
    silenced[0].project.weight.data[:, 16:] = 0
    with torch.no_grad():
        given = teacher.stem(batches[0]["pixel_values"])
        assert torch.allclose(block(given), silenced[0](given), atol=1e-5)


def test_importance_keeps_the_channels_with_the_largest_outgoing_weights(teacher):
    source, block = teacher.stages[0], Stage(SIZES.layers(0, (2,)))
    remap(source, block, "importance")
    weights = source[0].project.weight.detach()
    sums = [float(weights[:, c].abs().sum()) for c in range(32)]
    best = sorted(sorted(range(32), key=lambda c: -sums[c])[:16])
    assert best != list(range(16))
    assert torch.equal(block[0].depthwise.weight, source[0].depthwise.weight[best])
    assert torch.equal(block[0].project.weight, weights[:, best])


def test_what_is_too_large_gets_one_line(teacher, batches):
    with pytest.raises(ConfigurationError, match="a block of 3 layers cannot be cut out of one of 2"):
        remap(teacher.stages[0], Stage(SIZES.layers(0, (2, 2, 2))))
    with pytest.raises(ConfigurationError, match="a layer of 48 channels cannot be cut out of one of 32"):
        BlockZoo(teacher, batches).block(0, (6,))
    with pytest.raises(ConfigurationError, match="`order` must be first or importance, got `last`"):
        remap(teacher.stages[0], teacher.stages[0], "last")
    with pytest.raises(ConfigurationError, match="`batches` must hold at least one batch"):
        BlockZoo(teacher, [])
    with pytest.raises(ConfigurationError, match="unknown remap `second`"):
        BlockZoo(teacher, batches, ZooSettings(remap="second"))


def test_distillation_lowers_the_error(teacher, zoo, batches):
    for stage, expansions in ((0, (2,)), (1, (2, 2)), (1, (4,))):
        plain = BlockZoo(teacher, batches, ZooSettings(distil=False)).block(stage, expansions)
        distilled = zoo.block(stage, expansions)
        errors = []
        for block in (plain, distilled):
            with torch.no_grad():
                block.train()  # by the batch, as the distillation sees it
                pairs = [(given[stage], given[stage + 1]) for given in zoo.features]
                errors.append(sum(float(nn.functional.mse_loss(block(x), y)) for x, y in pairs))
        assert errors[1] < errors[0]


def test_distillation_is_adam_on_the_mean_squared_error():
    """A scalar block w · x, by hand: the first step of Adam has the size of the learning rate, against the gradient's sign."""
    block = nn.Linear(1, 1, bias=False)
    block.weight.data.fill_(0.0)
    errors = distil_block(block, [(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [6.0]]))], learning_rate=0.5)
    assert errors == [pytest.approx((9 + 36) / 2)]
    assert block.weight.item() == pytest.approx(0.5, abs=1e-6)
    doubled = distil_block(block, [(torch.ones(1, 1), torch.ones(1, 1))], run=lambda x: 2 * block(x))
    assert doubled == [pytest.approx(0.0, abs=1e-6)]


def test_a_block_that_diverges_fails_with_a_reason():
    block = nn.Sequential(nn.Linear(1, 1), nn.Dropout()).eval()
    with pytest.raises(EvaluationFailure, match="diverged"):
        distil_block(block, [(torch.ones(1, 1), torch.full((1, 1), float("nan")))])
    assert not any(module.training for module in block.modules())


def test_blocks_are_made_once_and_come_back_bit_for_bit(teacher, batches, tmp_path, monkeypatch):
    first = BlockZoo(teacher, batches, folder=tmp_path)
    block = first.block(1, (2, 4))
    again = first.block(1, (2, 4))
    assert again is not block
    assert same(again, block)
    again[0].project.weight.data.zero_()  # a copy: the zoo's own stays as it is
    assert same(first.block(1, (2, 4)), block)

    def never(*_args, **_more):
        raise AssertionError("it was distilled again")

    monkeypatch.setattr("secateur.estimators.block_zoo.zoo.distil_block", never)
    second = BlockZoo(teacher, batches, folder=tmp_path)
    assert same(second.block(1, (2, 4)), block)
    with pytest.raises(AssertionError, match="distilled again"):
        BlockZoo(teacher, batches[:4], folder=tmp_path).block(1, (2, 4))  # other batches, other blocks
    file = next((tmp_path / second.fingerprint).glob("*.safetensors"))
    assert file.name == "2-2-4.safetensors"
    file.write_bytes(b"nothing")
    with pytest.raises(StudyError, match=r"cannot be read: .* Remove it, and it is made again"):
        BlockZoo(teacher, batches, folder=tmp_path).block(1, (2, 4))


def test_the_order_in_which_blocks_are_made_does_not_matter(teacher, batches):
    settings = ZooSettings(remap="none")
    one, other = BlockZoo(teacher, batches, settings), BlockZoo(teacher, batches, settings)
    first = one.block(0, (2,))
    other.block(1, (4,))
    assert same(first, other.block(0, (2,)))
    assert not same(first, BlockZoo(teacher, batches, ZooSettings(remap="none", seed=1)).block(0, (2,)))


def test_the_score_is_the_accuracy_on_the_batches(data, teacher, zoo, batches):
    small = SPACE.smallest()
    network = zoo.assemble(small)
    assert expansions_of(network.architecture) == ((2,), (2,))
    assert zoo.score(small) == pytest.approx(score_images(network, data, batches)["accuracy"])
    assert zoo.score(small) < BlockZoo(teacher, batches, ZooSettings(distil=False)).score(SPACE.largest())
    assert zoo.score(small) > BlockZoo(teacher, batches, ZooSettings(remap="none")).score(small)


def test_recalibrated_statistics_are_those_of_the_batches(teacher, batches):
    network = BlockZoo(teacher, batches, ZooSettings(recalibrate=True)).assemble(SPACE.smallest())
    norm = network.stem[1]
    with torch.no_grad():
        seen = [network.stem[0](b["pixel_values"]) for b in batches]
    assert torch.allclose(norm.running_mean, torch.stack([s.mean(dim=(0, 2, 3)) for s in seen]).mean(0), atol=1e-5)
    assert torch.allclose(norm.running_var, torch.stack([s.var(dim=(0, 2, 3)) for s in seen]).mean(0), rtol=1e-4)
    assert norm.momentum == 0.1
    assert not any(module.training for module in network.modules())
    before = state_digest(network)
    recalibrate(network, batches)
    assert state_digest(network) == before


def test_the_reference_is_trained_once_and_kept(data, teacher, tmp_path, monkeypatch):
    made = reference(SPACE, SIZES, data, TRAINING, tmp_path)
    assert same(made, teacher)
    monkeypatch.setattr("secateur.estimators.block_zoo.reference.train_images", None)
    assert same(reference(SPACE, SIZES, data, TRAINING, tmp_path), made)
    with pytest.raises(TypeError):  # other settings: it would be trained
        reference(SPACE, SIZES, data, ImageTraining(epochs=5), tmp_path)
    next(tmp_path.glob("*.safetensors")).write_bytes(b"nothing")
    with pytest.raises(StudyError, match="cannot be read"):
        reference(SPACE, SIZES, data, TRAINING, tmp_path)


class TestContract(EstimatorContract):
    @pytest.fixture
    def make(self, teacher, batches):
        return lambda: BlockZooEstimator(BlockZoo(teacher, batches))

    @pytest.fixture
    def architectures(self):
        return [SPACE.smallest(), SPACE.largest(), architecture([[2, 4], [2]])]


class TestCostContract(EstimatorContract):
    @pytest.fixture
    def make(self):
        return lambda: ImageCost(SIZES)

    @pytest.fixture
    def architectures(self):
        return [SPACE.smallest(), *SPACE.sample_many(3, generator(0))]


def test_a_search_under_a_budget(zoo):
    cost = ImageCost(SIZES)
    limit = cost.count(SPACE.largest())["parameters"] * 0.6
    objectives = [Objective("block_zoo", "max"), Objective.parse(f"parameters<={limit:.0f}")]
    study = Study(create_store("memory://"), LocalSearch(SPACE, objectives), [cost, BlockZooEstimator(zoo)], objectives)
    study.run(Stop(trials=12))
    best = study.front().best(under={"parameters": limit})
    assert best.values["parameters"] <= limit
    complete = [trial for trial in study.trials() if trial.status == "complete"]
    assert complete
    assert all(trial.values["parameters"] <= limit for trial in complete)


def test_a_budget_below_the_smallest_network_gets_one_line():
    cost = ImageCost(SIZES)
    least, most = cost.count(SPACE.smallest()), cost.count(SPACE.largest())
    with pytest.raises(
        BoundError, match="nothing in the space `mobilenet` meets `macs<=10`: its smallest network has"
    ) as found:
        check_bounds("mobilenet", [(Objective.parse("macs<=10"), "macs<=10")], least, most, most)
    assert "\n" not in str(found.value)


def test_a_block_that_fails_is_a_failed_evaluation(teacher, batches):
    broken = [{**batches[0], "pixel_values": batches[0]["pixel_values"] * float("nan")}]
    (found,) = BlockZooEstimator(BlockZoo(teacher, broken)).evaluate([SPACE.smallest()])
    assert found.failure == "the distillation of a block diverged: its error is not finite."
