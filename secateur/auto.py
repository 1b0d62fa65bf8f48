"""`import secateur.auto`, and the plain Auto classes of transformers load our checkpoints without `trust_remote_code`."""

from __future__ import annotations

from secateur.anatomy import ANATOMIES, carving
from secateur.catalogue import names
from secateur.decoders.decoders import model_class


def register_families() -> None:
    """Register configurations and model classes of all known families. Call again after `secateur.anatomy.register`."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    for family in ANATOMIES:
        stock = CONFIG_MAPPING[family]
        config_class = getattr(carving, "Secateur" + stock.__name__)
        transformers.AutoConfig.register(config_class.model_type, config_class, exist_ok=True)
        for name in dict.fromkeys(carving.AUTO_CLASSES.values()):
            auto = getattr(transformers, name)
            if stock in auto._model_mapping:
                found = auto._model_mapping[stock]
                # Some families list several classes for one Auto class; the first is the usual one.
                model_class = found[0] if isinstance(found, tuple | list) else found
                auto.register(config_class, getattr(carving, "Secateur" + model_class.__name__), exist_ok=True)


def register_decoders() -> None:
    """Register configurations and model classes of the networks that `secateur design` builds."""
    import transformers

    for backbone in names("backbone"):
        network = model_class(backbone)
        transformers.AutoConfig.register(network.config_class.model_type, network.config_class, exist_ok=True)
        transformers.AutoModelForCausalLM.register(network.config_class, network, exist_ok=True)


register_families()
register_decoders()
