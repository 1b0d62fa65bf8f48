"""What measures and scores networks takes those for images."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from secateur.devices.inputs import dummy_inputs
from secateur.devices.latency import measure_model
from secateur.devices.setup import Setup
from secateur.errors import MeasurementError
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.memory import MemoryEstimator
from secateur.estimators.proxies import ProxyEstimator, score
from secateur.images import build
from secateur.spaces.mobilenet import Mobilenet, architecture
from secateur.spaces.mobilenet_sizes import ImageSizes, macs, parameters
from secateur.tasks import load_images

SIZES = ImageSizes(
    image=(1, 8, 8), classes=10, widths=(4, 6), strides=(2, 1), stem=4, head=16, squeeze=(False, True), swish=(False, True)
)
SMALL, LARGE = architecture([[2], [2]]), architecture([[4, 4], [4, 4]])


@pytest.fixture(scope="module")
def batch():
    data = load_images("digits", max_train=12)
    return next(iter(data.batches("train", 12)))


def test_latency_and_memory_are_measured_on_images():
    setup = Setup(batch=4, kind="image_classification", seconds=0.2)
    for kind, name in ((LatencyEstimator, "latency"), (MemoryEstimator, "memory")):
        found = kind(lambda a: build(a, SIZES), setup).evaluate([SMALL, LARGE])
        assert [e.failure for e in found] == [None, None]
        assert 0 < found[0].values[name] < found[1].values[name]
    details = MemoryEstimator(lambda a: build(a, SIZES), setup).evaluate([SMALL])[0].details
    tensors = build(SMALL, SIZES).state_dict().values()
    assert details["memory_weights"] == sum(t.nbytes for t in tensors)


def test_made_up_images_have_the_size_that_the_network_names():
    inputs = dummy_inputs(build(SMALL, SIZES), 3, 128, "image_classification")
    assert inputs["pixel_values"].shape == (3, 1, 8, 8)
    with pytest.raises(MeasurementError, match="`Linear` has no `image_shape`"):
        dummy_inputs(nn.Linear(2, 2), 3, 128, "image_classification")
    setup = Setup(kind="image_classification", runtime="onnx")
    with pytest.raises(MeasurementError, match="cannot be exported: its runtime must be torch or torch-int8, got onnx"):
        measure_model(build(SMALL, SIZES), setup)


NAMES = ("grad_norm", "snip", "grasp", "fisher", "synflow", "jacob_cov", "relu_log_det", "naswot", "l2_norm")


@pytest.mark.parametrize("name", NAMES)
def test_every_proxy_takes_a_network_for_images(name, batch):
    estimator = ProxyEstimator(lambda a: build(a, SIZES), batch, name, loss=nn.functional.cross_entropy)
    small, large = estimator.evaluate([SMALL, LARGE])
    assert (small.failure, large.failure) == (None, None)
    assert small.values != large.values


def test_counting_proxies_agree_with_the_space(batch):
    network = build(LARGE, SIZES)
    assert score("parameters", network) == parameters(LARGE, SIZES)
    assert score("macs", network, batch) == macs(LARGE, SIZES, batch=12)


def test_gradient_norm_and_snip_by_autograd(batch):
    """The norms and products of plain autograd, with batch norms by the batch."""
    network = build(SMALL, SIZES)
    loss = nn.functional.cross_entropy
    found = {name: score(name, network, batch, loss=loss) for name in ("grad_norm", "snip")}
    network.train()
    loss(network(batch["pixel_values"]), batch["labels"]).backward()
    weights = list(network.parameters())
    assert found["snip"] == pytest.approx(sum(float((p.detach() * p.grad).abs().sum()) for p in weights), rel=1e-4)
    assert found["grad_norm"] == pytest.approx(sum(float(p.grad.norm()) for p in weights), rel=1e-4)


def test_naswot_by_its_definition(batch):
    """log |K| of the Hamming distances between the signs of what enters each activation, of a network taken apart by hand."""
    network = build(architecture([[2], [2]]), SIZES).train()
    codes = []
    activations = [m for m in network.modules() if isinstance(m, nn.ReLU | nn.Hardswish)]
    handles = [m.register_forward_pre_hook(lambda _m, args: codes.append((args[0] > 0).flatten(1))) for m in activations]
    with torch.no_grad():
        network(batch["pixel_values"])
    for handle in handles:
        handle.remove()
    bits = torch.cat(codes, dim=1)
    kernel = [[int((bits[i] == bits[j]).sum()) for j in range(12)] for i in range(12)]
    sign, expected = np.linalg.slogdet(np.array(kernel, dtype=np.float64))
    assert sign == 1
    assert score("naswot", network.eval(), batch) == pytest.approx(expected, rel=1e-6)


def test_the_whole_space_is_built_at_its_default_sizes():
    sizes = ImageSizes(image=(3, 32, 32), classes=10)
    with torch.device("meta"):
        network = build(Mobilenet().largest(), sizes)
    assert sum(p.numel() for p in network.parameters()) == parameters(Mobilenet().largest(), sizes)
