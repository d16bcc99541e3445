"""A small corpus of news in several subjects, so that tests read like what people do with the page."""

import json
import random

SUBJECTS = {
    "sport/hockey": "goalie puck rink skater penalty powerplay overtime stick playoffs icing",
    "sport/football": "striker corner offside referee goalkeeper midfield penalty stadium header transfer",
    "science/space": "orbit telescope rocket planet astronaut satellite launch galaxy crater comet",
    "science/medicine": "patient vaccine dose symptom clinic surgeon infection therapy diagnosis virus",
    "trade/oil": "barrel crude pipeline refinery tanker opec drilling petrol export gallon",
    "trade/grain": "wheat harvest corn bushel farmer acreage soybean export silo drought",
}
COMMON = "the a of and in to was with for on at by from this that it said after before today year new".split()


def sentence(rng, words):
    chosen = [rng.choice(words) if rng.random() < 0.45 else rng.choice(COMMON) for _ in range(rng.randint(8, 14))]
    text = " ".join(chosen)
    return text[0].upper() + text[1:] + "."


def write(path, documents=480, seed=7):
    """Every fourth document is about two subjects."""
    rng = random.Random(seed)
    names = sorted(SUBJECTS)
    with open(path, "w", encoding="utf-8") as out:
        for number in range(documents):
            labels = [names[number % len(names)]]
            if number % 4 == 0:
                labels.append(rng.choice([n for n in names if n != labels[0]]))
            words = [w for label in labels for w in SUBJECTS[label].split()]
            text = " ".join(sentence(rng, words) for _ in range(3))
            out.write(json.dumps({"id": str(number), "text": text, "labels": labels}) + "\n")
