from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from secateur.report.decoder_picture import decoder_picture, describe_decoder, scale

CHOICES = {"backbone": "gpt2", "width": 128, "heads": (2, 4), "inner": (256, 512), "embedding": 64, "factor": 4}
LARGEST = {"layers": 4, "width": 256, "inner": 1024}


def test_description():
    assert describe_decoder(CHOICES) == "2 layers × 128, inner 256–512, heads 2–4, embedding 64 (k = 4)"
    one = {**CHOICES, "heads": (2,), "inner": (256,), "embedding": 0, "factor": 1}
    assert describe_decoder(one) == "1 layer × 128, inner 256, heads 2, plain embedding"


@pytest.mark.parametrize("compact", [False, True])
def test_bars_are_as_long_as_the_layers_are_wide(compact):
    svg = ElementTree.fromstring(decoder_picture(CHOICES, LARGEST, compact))
    heads = [path.get("d").count("M") for path in svg.iter("path")]
    assert heads == [2, 4]
    bars = [float(bar.get("width")) for bar in svg.iter("rect")]
    room = 76.0 if compact else 190.0
    assert bars == pytest.approx([room / 4, room / 2], abs=0.01)
    assert svg.findtext("title") == describe_decoder(CHOICES) == svg.get("aria-label")


def test_full_picture_says_the_numbers():
    text = "".join(ElementTree.fromstring(decoder_picture(CHOICES, LARGEST)).itertext())
    for words in ("attention, 128 wide", "4 heads", "512", "layer 1: 4 heads, 512 units"):
        assert words in text


def test_scale_is_the_largest_of_all():
    deep = {**CHOICES, "heads": [8] * 5, "inner": [300] * 5, "width": 64}
    assert scale([CHOICES, deep]) == {"layers": 5, "width": 128, "inner": 512}
    assert scale([]) == {"layers": 1, "width": 1, "inner": 1}
