"""What labels are, for a model file and back again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _inputs

#: What a label scores that a classifier does not rank: without a positive document an SVM says −1, neighbours that do not have the
#: label add nothing, and the logarithm of no probability is below any that a document gives.
FLOORS = {"svm": -1.0, "knn": 0.0, "wknn": 0.0, "bayes": -1e9, "logistic": -1e9, "tree": -1e9}


def target_of(labels: _inputs.Labels, nodes: dict[str, Any]) -> str | None:
    """What the labels are, for the model file; None where they are of a type that a file does not know."""
    classes = labels.classes.tolist()
    if labels.kind != "multilabel-indicator":
        known = set(map(str, classes))
        classes = classes + [label for name, label in nodes.items() if name not in known]
    if not all(isinstance(label, (str, bool, int, float)) for label in classes):
        return None
    form = {"lists": "lists", "multilabel-indicator": "indicator"}.get(labels.kind, "vector")
    kind = labels.classes.dtype
    return json.dumps({"form": form, "type": "text" if kind.kind in "OU" else kind.name, "labels": classes})


def asked(about: dict[str, Any], features: int) -> dict[str, Any]:
    """Parameters by which a model that was read is fitted again."""
    known = {str(label): label for label in (about["target"] or {"labels": []})["labels"]}
    records = about["taxonomy"]
    taxonomy = records and {
        known.get(node["id"], node["id"]): known.get(node.get("parent"), node.get("parent")) for node in records
    }
    along = about["hierarchy"]
    if about["goal"] is not None:
        return {"by": None, "features": "auto", "threshold": None, "taxonomy": taxonomy, "goal": about["goal"]}
    if along is None:
        return {"by": about["summary"]["selector"], "features": features, "threshold": about["deciding"], "taxonomy": taxonomy}
    same = ("negatives", "per_node", "least_utility", "imbalance", "answers")
    return {
        "by": None if along["features"] is None else along["selector"],
        "features": "auto" if along["features"] is None else along["features"],
        "threshold": along["method"],
        "taxonomy": taxonomy,
        "utility": along["thresholds"]["utility"],
        "step": along["thresholds"]["step"],
        **{name: along[name] for name in same},
    }


def given_target(names: list[str], about: dict[str, Any]) -> tuple[str, np.ndarray, dict[str, Any]]:
    """The form of y, the classes, and the other nodes of a taxonomy, of a model that was read."""
    target = about["target"]
    if target is None:
        one = about["deciding"] == "rcut(1)" and about["summary"]["single_label"]
        kind = ("binary" if len(names) == 2 else "multiclass") if one else "lists"
        return kind, np.array(names), {}
    labels = target["labels"]
    # Text is as wide as the widest of all, so that nothing is cut off.
    classes = np.array(labels) if target["type"] == "text" else np.array(labels, dtype=target["type"])
    if target["form"] == "indicator":
        return "multilabel-indicator", classes, {}
    there = {str(label) for label in labels} & set(names)
    nodes = {str(label): label for label in labels if str(label) not in there}
    kind = "lists" if target["form"] == "lists" else "binary" if len(names) == 2 else "multiclass"
    return kind, classes, nodes


def rows_of(labels: _inputs.Labels) -> list[list]:
    """The labels of each document."""
    names = labels.classes[labels.sets[1]]
    return [part.tolist() for part in np.split(names, labels.sets[0][1:-1])] if labels.documents else []
