"""The only table of names: what can be asked for on the command line or in a configuration, and what is behind each name.

What stands behind a name is imported when it is looked up: the names alone cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from secateur.errors import ConfigurationError, UnknownNameError


class Entry(NamedTuple):
    """`where` it is ("module:name"), what it is `about`, and the jobs it `serves`: none named means all. `budgets` is of a
    searcher that chooses how long its candidates are trained."""

    where: str
    about: str
    serves: tuple[str, ...] = ()
    budgets: bool = False


CATALOGUE: dict[str, dict[str, Entry]] = {
    "space": {
        "small": Entry(
            "secateur.spaces.pruning:Small", "one number of heads, units and layers for the whole network", ("prune",)
        ),
        "medium": Entry("secateur.spaces.pruning:Medium", "heads and units for each layer", ("prune",)),
        "layer": Entry("secateur.spaces.pruning:Layer", "whole layers, kept or not", ("prune",)),
        "sublayer": Entry("secateur.spaces.pruning:Sublayer", "attention and feed-forward of each layer", ("prune",)),
        "large": Entry("secateur.spaces.pruning:Large", "every single head and unit", ("prune",)),
        "decoder": Entry("secateur.spaces.decoder:Decoder", "GPT-2 and Transformer-XL, layer by layer", ("design",)),
        "nasbench101": Entry("secateur.spaces.cells:NasBench101", "graphs of up to 7 nodes and 9 edges", ("bench",)),
        "nasbench201": Entry("secateur.spaces.cells:NasBench201", "five operations on six edges", ("bench",)),
        "darts": Entry("secateur.spaces.cells:Darts", "a normal and a reduction cell", ("bench",)),
        "cate-outside": Entry("secateur.spaces.cells:CateOutside", "larger cells than encodings were trained on", ("bench",)),
        "mobilenet": Entry("secateur.spaces.mobilenet:Mobilenet", "MobileNetV3 for images, layer by layer", ("images",)),
    },
    "searcher": {
        "random": Entry("secateur.search:Random", "random draws"),
        "local": Entry("secateur.search:LocalSearch", "one change to a member of the front, with restarts"),
        "mo-rea": Entry("secateur.search:MoRea", "regularised evolution with non-dominated sorting"),
        "nsga2": Entry("secateur.search:Nsga2", "NSGA-II"),
        "ehvi": Entry("secateur.search:Ehvi", "Bayesian optimisation of the hypervolume"),
        "bo-gp": Entry("secateur.search.model_based:BO_GP", "Bayesian optimisation with a Gaussian process"),
        "bo-dngo": Entry("secateur.search.model_based:BO_DNGO", "Bayesian optimisation with a network, DNGO"),
        "dngo": Entry("secateur.search.model_based:DNGO", "the same, five for each network"),
        "dngo-ls": Entry("secateur.search.model_based:DNGO_LS", "what DNGO predicts to be best, then neighbours of the best"),
        "bananas": Entry("secateur.search.model_based:BANANAS", "mutations of the best, chosen by an ensemble of networks"),
        "bo-gcn": Entry("secateur.search.model_based:BO_GCN", "Bayesian optimisation with graph convolutions", ("bench",)),
        "reinforce": Entry("secateur.search:Reinforce", "policy gradient with an LSTM, of one objective", ("prune", "bench")),
        "mo-asha": Entry("secateur.search:MoAsha", "random draws, the worst of which stop early", ("prune", "bench"), True),
        "successive-halving": Entry("secateur.search:SuccessiveHalving", "the same, rung by rung", ("prune", "bench"), True),
        "hyperband": Entry("secateur.search:Hyperband", "successive halving from several budgets on", ("prune", "bench"), True),
        "bohb": Entry("secateur.search:Bohb", "hyperband with draws that resemble good ones", ("prune", "bench"), True),
        "evolution": Entry("secateur.search:Evolution", "evolution on the front, as in LiteTransformerSearch"),
        "exact": Entry("secateur.search:Exact", "the front itself, computed where costs add up over layers", ("design",)),
    },
    "encoding": {
        "vector": Entry("secateur.encodings:UnitCube", "the space's own coordinates"),
        "adjacency": Entry("secateur.encodings:Adjacency", "bits for edges and operations"),
        "adjacency-categorical": Entry("secateur.encodings:AdjacencyCategorical", "numbers of edges and operations"),
        "adjacency-continuous": Entry("secateur.encodings:AdjacencyContinuous", "values whose largest are chosen"),
        "path": Entry("secateur.encodings:Path", "bits for paths of operations"),
        "path-categorical": Entry("secateur.encodings:PathCategorical", "numbers of paths"),
        "path-continuous": Entry("secateur.encodings:PathContinuous", "values of paths whose largest are there"),
        "path-truncated": Entry("secateur.encodings:PathTruncated", "bits for short paths"),
        "graph": Entry("secateur.encodings:GraphEncoding", "adjacency matrix and operations, for graph predictors"),
    },
    # What learns an encoding of the cells of a space. A trained one is named by its folder.
    "learner": {
        "arch2vec": Entry("secateur.encodings.learned.arch2vec:Arch2vec", "a variational graph autoencoder"),
        "gae": Entry("secateur.encodings.learned.gae:Gae", "a graph autoencoder with convolutions"),
        "vgae": Entry("secateur.encodings.learned.gae:Vgae", "a variational one"),
        "d-vae": Entry("secateur.encodings.learned.dvae:Dvae", "a variational autoencoder that works node by node"),
        "supervised": Entry("secateur.encodings.learned.supervised:Supervised", "the encoder alone, told accuracies"),
        "cate": Entry("secateur.encodings.learned.cate:Cate", "a Transformer that names masked operations of like pairs"),
    },
    # The settings of each learner, which need no torch.
    "learning": {
        "arch2vec": Entry("secateur.encodings.learned.arch2vec_settings:Arch2vecSettings", "how arch2vec is trained"),
        "gae": Entry("secateur.encodings.learned.gae_settings:GaeSettings", "how gae is trained"),
        "vgae": Entry("secateur.encodings.learned.gae_settings:VgaeSettings", "how vgae is trained"),
        "d-vae": Entry("secateur.encodings.learned.dvae_settings:DvaeSettings", "how d-vae is trained"),
        "supervised": Entry("secateur.encodings.learned.supervised_settings:SupervisedSettings", "how supervised is trained"),
        "cate": Entry("secateur.encodings.learned.cate_settings:CateSettings", "how CATE is trained"),
    },
    "predictor": {
        "gp": Entry("secateur.predictors:GaussianProcess", "a Gaussian process"),
        "dngo": Entry("secateur.predictors:Dngo", "Bayesian linear regression on a network's last layer"),
        "mlp": Entry("secateur.predictors:MlpEnsemble", "the ensemble of networks of BANANAS"),
        "trees": Entry("secateur.predictors:BoostedTrees", "gradient-boosted trees"),
        "forest": Entry("secateur.predictors:Forest", "a random forest"),
        "gcn": Entry("secateur.predictors:Gcn", "graph convolutions, for the encoding graph"),
        "gin": Entry("secateur.predictors:Gin", "a graph isomorphism network, for the encoding graph"),
    },
    # The parts of a model of learning curves.
    "compressor": {
        "svd": Entry("secateur.predictors.curves.compressors:Svd", "the singular value decomposition"),
        "vae": Entry("secateur.predictors.curves.vae:Vae", "a variational autoencoder"),
    },
    "regressor": {
        "lgb": Entry("secateur.predictors.curves.regressors:LightGbm", "boosted trees, by LightGBM"),
        "xgb": Entry("secateur.predictors.curves.regressors:XgBoost", "boosted trees, by XGBoost"),
        "mlp": Entry("secateur.predictors.curves.regressors:Mlp", "fully connected networks"),
    },
    "noise": {
        "kde": Entry("secateur.predictors.curves.noise:KernelDensity", "a kernel density over residuals"),
        "deviation": Entry("secateur.predictors.curves.noise:PerStep", "a deviation for each step"),
        "window": Entry("secateur.predictors.curves.noise:Window", "a deviation that the architecture decides"),
        "seeds": Entry("secateur.predictors.curves.noise:Seeds", "a kernel density over what several seeds differ by"),
    },
    "extrapolator": {
        "last": Entry("secateur.predictors.curves.extrapolators:LastValue", "the last value"),
        "wpm": Entry("secateur.predictors.curves.wpm:Wpm", "a mixture of parametric curves, by Markov chain Monte Carlo"),
        "svr": Entry("secateur.predictors.curves.regressing:Svr", "support vectors, on curves and architectures"),
        "gp": Entry("secateur.predictors.curves.regressing:Process", "a Gaussian process, on curves and architectures"),
    },
    "strategy": {
        "standard": Entry("secateur.training.strategies:Standard", "the whole network", ("prune",)),
        "random": Entry("secateur.training.strategies:Random", "one random sub-network per step", ("prune",)),
        "random-linear": Entry(
            "secateur.training.strategies:RandomLinear", "random sub-networks, more and more often", ("prune",)
        ),
        "sandwich": Entry("secateur.training.strategies:Sandwich", "the largest, the smallest and k random ones", ("prune",)),
        "kd": Entry("secateur.training.strategies:InPlaceDistillation", "k random ones, distilled", ("prune",)),
        "kd-linear": Entry("secateur.training.strategies:LinearDistillation", "kd more and more often", ("prune",)),
        "full": Entry("secateur.training.strategies:Full", "the sandwich, distilled", ("prune",)),
    },
    "method": {
        "weight-sharing": Entry("secateur.methods.weight_sharing:WeightSharing", "a super-network, searched", ("prune",)),
        "standard": Entry("secateur.methods.standard:Standard", "every candidate fine-tuned by itself", ("prune",)),
        "one-shot": Entry("secateur.methods.one_shot:OneShot", "slices of the fine-tuned network, distilled", ("prune",)),
        "minitron": Entry(
            "secateur.methods.minitron.method:Minitron", "a language model cut by its activations, then healed", ("prune",)
        ),
        "layer-drop": Entry("secateur.methods.layer_drop:LayerDrop", "layers dropped, the rest fine-tuned", ("prune",)),
        "head-pruning": Entry("secateur.methods.head_pruning:HeadPruning", "heads of low gradient removed", ("prune",)),
        "fisher": Entry(
            "secateur.methods.fisher.method:Fisher", "masks by Fisher information, tuned by least squares", ("prune",)
        ),
        "learned-masks": Entry(
            "secateur.methods.learned_masks.method:LearnedMasks", "masks learnt end to end, HM-NAS", ("prune",)
        ),
        "block-zoo": Entry("secateur.methods.block_zoo:BlockZoo", "layers distilled one by one, assembled", ("prune",)),
    },
    "backbone": {
        "gpt2": Entry("secateur.decoders.gpt2:DecoderGpt2ForCausalLM", "GPT-2", ("design",)),
        "transformer_xl": Entry("secateur.decoders.transformer_xl:DecoderXlForCausalLM", "Transformer-XL", ("design",)),
    },
    # What can be said on the command line, in the order of the help; `secateur bench proxies` is in a group, and
    # `secateur bench surrogate fit` in a group of this group. What serves the command line alone is, in Python, a method of a
    # run or of its members.
    "verb": {
        "demo": Entry("secateur.verbs.demo:demo", "Prune a small model on film reviews; downloads nothing"),
        "prune": Entry("secateur.verbs.prune:prune", "Prune a pre-trained Transformer on your data"),
        "design": Entry("secateur.verbs.design:design", "Design decoder language models for a device"),
        # `secateur.cells` is the package of their networks
        "cells": Entry("secateur.verbs.cells:find_cells", "Find the cells of a network for your images (HM-NAS)"),
        "train": Entry("secateur.verbs.train:train", "Train an architecture that design found"),
        "resume": Entry("secateur.verbs.resume:resume", "Continue a run that was stopped"),
        "join": Entry("secateur.verbs.join:join", "Search with a run that another process is working on"),
        "front": Entry("secateur.verbs.front:front", "Show the Pareto set of a run", ("cli",)),
        "export": Entry("secateur.verbs.export:export", "Export a sub-network as a checkpoint", ("cli",)),
        "report": Entry("secateur.verbs.report:report", "Write a run's report: one page that works offline", ("cli",)),
        "status": Entry("secateur.verbs.status:status", "Show how far a run is and what to do next", ("cli",)),
        "watch": Entry("secateur.verbs.watch:watch", "Follow a run in the browser", ("cli",)),
        "compare": Entry("secateur.verbs.compare:compare", "Compare runs: their fronts on one page", ("cli",)),
        "measure": Entry("secateur.verbs.measure:measure", "Measure the latency and memory of any checkpoint"),
        "evaluate": Entry("secateur.verbs.evaluate:evaluate", "Score a language model on lm-evaluation-harness"),
        "bench proxies": Entry("secateur.verbs.proxies:proxies", "Report how well proxies rank trained networks"),
        "bench search": Entry("secateur.verbs.bench_search:bench_search", "Compare searchers on tables of evaluated networks"),
        "bench import": Entry("secateur.verbs.bench_import:bench_import", "Keep a published table under a name"),
        "bench predictors": Entry(
            "secateur.verbs.bench_predictors:bench_predictors", "Compare predictors and encodings on tables"
        ),
        "bench extrapolators": Entry(
            "secateur.verbs.bench_extrapolators:bench_extrapolators", "Compare extrapolators of learning curves"
        ),
        "bench surrogate fit": Entry(
            "secateur.verbs.bench_surrogate_fit:bench_surrogate_fit", "Fit a surrogate to learning curves"
        ),
        "bench surrogate query": Entry(
            "secateur.verbs.bench_surrogate_query:bench_surrogate_query", "Tell what a surrogate says of an architecture"
        ),
        "bench surrogate evaluate": Entry(
            "secateur.verbs.bench_surrogate_evaluate:bench_surrogate_evaluate", "Compare surrogates on networks held out"
        ),
        "bench encodings": Entry("secateur.verbs.bench_encodings:bench_encodings", "Compare encodings in searches of tables"),
        "bench pruning": Entry("secateur.verbs.bench_pruning:bench_pruning", "Compare pruning methods, strategies and spaces"),
        "encode pretrain": Entry("secateur.verbs.encode_pretrain:encode_pretrain", "Learn an encoding of a space's cells"),
        "encode embed": Entry("secateur.verbs.encode_embed:encode_embed", "Write the vectors of a trained encoding"),
        "encode show": Entry("secateur.verbs.encode_show:encode_show", "Write a page about a trained encoding"),
    },
    # What a job is made of, by the verb that starts it.
    "run": {
        "prune": Entry("secateur.runs.prune.run:PruneRun", "sub-networks of a pre-trained Transformer"),
        "design": Entry("secateur.runs.design.run:DesignRun", "decoder architectures for a device"),
        "cells": Entry("secateur.runs.cells.run:CellsRun", "cells of a network for images"),
    },
    "work": {
        "prune": Entry("secateur.runs.prune.stages:PruneWork", "the stages of a pruning run"),
        "design": Entry("secateur.runs.design.stages:DesignWork", "the stages of a design run"),
        "cells": Entry("secateur.runs.cells.stages:CellsWork", "the stages of a run for cells"),
    },
    "report": {
        "prune": Entry("secateur.runs.prune.report:PruneReport", "the page and the table of a pruning run"),
        "design": Entry("secateur.runs.design.report:DesignReport", "the page and the table of a design run"),
        "cells": Entry("secateur.runs.cells.report:CellsReport", "the page and the table of a run for cells"),
    },
}


def names(kind: str, serving: str | None = None) -> tuple[str, ...]:
    """The names of a kind, those that serve a job where one is named."""
    return tuple(n for n, e in CATALOGUE[kind].items() if serving is None or not e.serves or serving in e.serves)


def listed(kind: str, serving: str | None = None) -> str:
    """The names as a sentence has them: `small, medium or large`."""
    *most, last = names(kind, serving)
    return f"{', '.join(most)} or {last}" if most else last


def explained(kind: str, serving: str | None = None) -> str:
    """The names with what they are about: `small (one number …), medium (…)`."""
    return ", ".join(f"{name} ({CATALOGUE[kind][name].about})" for name in names(kind, serving))


def about(kind: str, name: str) -> str:
    """What a name stands for, in a few words; the name itself where there is none such."""
    return CATALOGUE[kind][name].about if name in CATALOGUE[kind] else name


def check(kind: str, name: str, serving: str | None = None, hint: str = "") -> None:
    """Raise UnknownNameError, with the nearest name and a hint, where there is none such. Imports nothing."""
    known = names(kind, serving)
    if name not in known:
        raise UnknownNameError(kind, name, known, hint)


def find(kind: str, name: str, serving: str | None = None) -> Any:
    """What a name of a kind stands for. Raises UnknownNameError with the nearest name."""
    check(kind, name, serving)
    module, _, attribute = CATALOGUE[kind][name].where.partition(":")
    return getattr(import_module(module), attribute)


def check_encoding(text: str) -> None:
    """Check an encoding's name; a folder that holds a trained one has a slash in it, and is not looked at."""
    if "/" not in text:
        check("encoding", text, hint="A trained encoding is named by its folder, with a slash: ./NAME.")


def find_encoding(text: str) -> Any:
    """What makes encodings of a name, or of a folder that holds a trained one. Raises UnknownNameError."""
    check_encoding(text)
    if "/" in text:
        return import_module("secateur.encodings.learned").Trained(text)
    return find("encoding", text)


def with_budgets(searcher: str | None) -> bool:
    """Whether a searcher chooses how long its candidates are trained."""
    name = (searcher or "").partition(":")[0]
    return name in CATALOGUE["searcher"] and CATALOGUE["searcher"][name].budgets


def check_searcher(text: str, serving: str | None = None) -> None:
    """Check a searcher's name, with the encoding it shall learn from or move in where one is named, as in `bananas:path`."""
    name, colon, encoding = text.partition(":")
    check("searcher", name, serving)
    if colon:
        check_encoding(encoding)


def find_searcher(text: str, serving: str | None = None) -> Any:
    """What makes searchers of such a name. Raises UnknownNameError, ConfigurationError where one has no use for encodings."""
    name, colon, encoding = text.partition(":")
    kind = find("searcher", name, serving)
    if not colon:
        return kind
    if not hasattr(kind, "encoded"):
        raise ConfigurationError(f"`{text}` names an encoding, and `{name}` has no use for one.")
    return kind.encoded(encoding)
