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


def sentence(rng, words, others):
    """Mostly common words, some of the subject, and now and then one of another: no model should be perfect."""

    def word():
        place = rng.random()
        return rng.choice(words) if place < 0.2 else rng.choice(others) if place < 0.29 else rng.choice(COMMON)

    text = " ".join(word() for _ in range(rng.randint(6, 12)))
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
            others = [w for label in names if label not in labels for w in SUBJECTS[label].split()]
            text = " ".join(sentence(rng, words, others) for _ in range(3))
            out.write(json.dumps({"id": str(number), "text": text, "labels": labels}) + "\n")
