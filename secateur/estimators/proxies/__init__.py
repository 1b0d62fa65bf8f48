"""Low-cost proxies: scores of untrained networks, written once for any network.

For language models all scores leave out the embeddings and the projection to the vocabulary (`body.py` says what is left);
only `parameters` and `macs` are of the whole network, as everywhere.
"""

from secateur.estimators.proxies.base import PROXIES, Cost, Proxy
from secateur.estimators.proxies.body import body_parameters
from secateur.estimators.proxies.estimator import ProxyEstimator
from secateur.estimators.proxies.probe import Batch, Loss
from secateur.estimators.proxies.scoring import cost, score

__all__ = [
    "PROXIES",
    "Batch",
    "Cost",
    "Loss",
    "Proxy",
    "ProxyEstimator",
    "body_parameters",
    "cost",
    "score",
]
