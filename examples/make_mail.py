"""Writes examples/mail.csv: letters to a shop that does not exist, for the tutorial. The same letters every time."""

import csv
import pathlib
import random

OPENINGS = ["Hello,", "Hi there,", "Good morning,", "Dear team,", "To whom it may concern,", ""]
ENDINGS = ["Thanks!", "Kind regards, {name}", "Please answer soon.", "Best, {name}", "I hope you can help.", ""]
NAMES = ["Ana", "Bo", "Chiara", "Deniz", "Emil", "Fatou", "Grace", "Hugo", "Ines", "Jonas"]
THINGS = ["lamp", "kettle", "jacket", "headphones", "backpack", "office chair", "coffee grinder", "running shoes", "keyboard", "tent"]
LETTERS = {
    "delivery": [
        "Where is my parcel? I ordered a {thing} {days} days ago and the tracking has not moved.",
        "The courier says the {thing} was delivered, but nothing arrived at my address.",
        "Can you deliver the {thing} to another address? I will be away when the carrier comes.",
        "My {thing} is late. The shipping page still shows it in the depot after {days} days.",
        "When will the {thing} ship? The confirmation promised {days} days.",
    ],
    "billing": [
        "You charged my card twice for one {thing}. Please correct the invoice.",
        "I need an invoice with our tax number for the {thing}, order {order}.",
        "The voucher was not taken off the price of the {thing} and I paid in full.",
        "My bank statement shows {days} euros more than the bill for the {thing}.",
        "Which payment methods do you take? My credit card was declined for the {thing}.",
    ],
    "returns": [
        "I want to return the {thing}; it does not fit. How do I get the label?",
        "The {thing} arrived broken. Please send a replacement or my money back.",
        "I sent the {thing} back {days} days ago and still wait for the refund.",
        "Can I exchange the {thing} for a larger size within {days} days?",
        "The {thing} stopped working after {days} days, is it under warranty?",
    ],
    "account": [
        "I cannot log in; the password reset mail never comes.",
        "Please delete my account and all data you keep about me.",
        "How do I change the e-mail address of my account?",
        "My profile was locked after {days} attempts to sign in.",
        "I get your newsletter although I unsubscribed {days} times.",
    ],
    "product": [
        "Does the {thing} come in green, and is it waterproof?",
        "How heavy is the {thing}, and what is it made of?",
        "Is the {thing} compatible with the older model I bought in {order}?",
        "When will the {thing} be in stock again?",
        "What is the difference between the {thing} and the cheaper one?",
    ],
}
BOTH = [("delivery", "billing"), ("returns", "billing"), ("delivery", "returns"), ("account", "billing")]


def sentence(dice, label):
    return dice.choice(LETTERS[label]).format(thing=dice.choice(THINGS), days=dice.randint(2, 30), order=dice.randint(1000, 9999))


def letters(count):
    dice = random.Random(1)
    for _ in range(count):
        labels = list(dice.choice(BOTH)) if dice.random() < 0.15 else [dice.choice(list(LETTERS))]
        parts = [sentence(dice, label) for label in labels]
        # Letters wander, and now and then one was filed wrongly.
        if dice.random() < 0.25:
            parts.insert(dice.randint(0, len(parts)), sentence(dice, dice.choice(list(LETTERS))))
        if dice.random() < 0.05:
            labels = [dice.choice(list(LETTERS))]
        body = " ".join(parts)
        name = dice.choice(NAMES)
        yield " ".join(filter(None, [dice.choice(OPENINGS), body, dice.choice(ENDINGS).format(name=name)])), labels


if __name__ == "__main__":
    place = pathlib.Path(__file__).parent / "mail.csv"
    with place.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["nr", "message", "topic"])
        for number, (text, labels) in enumerate(letters(600), 1):
            table.writerow([number, text, ";".join(labels)])
