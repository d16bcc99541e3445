"""From raw strings to a tuned, explained and evaluated model with plots, in 30 lines.

python examples/quickstart.py [FOLDER]     FOLDER: train and test, each with a folder for each label (20 Newsgroups)
"""

import pathlib
import sys

import matplotlib
from sklearn.datasets import load_files

import tamis

if len(sys.argv) > 1:
    train, test = (load_files(pathlib.Path(sys.argv[1]) / part, encoding="latin-1") for part in ("train", "test"))
    x, y, x_test, y_test = train.data, [train.target_names[t] for t in train.target], test.data, test.target
    y_test = [test.target_names[t] for t in y_test]
else:
    corpus = tamis.synth(2000)
    train, test = (corpus[corpus["split"] == part] for part in ("train", "test"))
    x, y, x_test, y_test = train["text"], train["labels"], test["text"], test["labels"]

print(tamis.rank(x, y, "lr(chi2max,chi2avg)@1", top=10, n_jobs=-1))  # the words that matter
model = tamis.TextCategorizer(classifier="svm", threshold="scut(goal=micro+macro,rare=5,min=1)", n_jobs=-1).fit(x, y)  # selector and size are chosen
print(*model.why_, sep="\n")
values = tamis.measures.evaluate(y_test, model.decision_function(x_test), model.predict(x_test), classes=model.classes_)
print({name: round(value, 4) for name, value in values.items() if value is not None})
document = list(x_test)[0]
for label in model.explain(document, top=5):                       # why this document has its labels
    print(label["label"], label["score"], [(w["word"], round(w["adds"], 3)) for w in label["words"]])
model.save("quickstart.model")                                     # the command line reads it: tamis classify

matplotlib.use("Agg")
tamis.plot_size_curve(model).figure.savefig("size_curve.png", dpi=120)
tamis.plot_top_words(model, model.classes_[0]).figure.savefig("top_words.png", dpi=120)
tamis.plot_thresholds(model).figure.savefig("thresholds.png", dpi=120)
