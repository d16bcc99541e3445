"""The page as people use it, in headless Chromium."""

import re

import pytest
from playwright.sync_api import expect

from conftest import ask, serving

HOCKEY = "The goalie stopped the puck and the skater went to the penalty box in overtime."
OIL = "A tanker with crude left the refinery; each barrel costs more."


def labels(page):
    """Names of the labels that are given, as the status says."""
    return page.locator("#verdict").inner_text()


def write(page, text):
    page.locator("#text").fill(text)


def contrast(page, selector):
    """Contrast of a node's text with what is behind it (WCAG 2)."""
    return page.eval_on_selector(
        selector,
        """node => {
          const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
          const rgb = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data]; };
          const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
            .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          let behind = node;
          while (rgb(getComputedStyle(behind).backgroundColor)[3] < 255 && behind.parentElement) behind = behind.parentElement;
          const [a, b] = [light(rgb(getComputedStyle(node).color)), light(rgb(getComputedStyle(behind).backgroundColor))];
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        }""",
    )


def test_a_text_gets_its_label_and_the_words_that_decided(open_page, shots):
    page = open_page()
    page.locator("#text").press_sequentially(HOCKEY, delay=2)
    page.get_by_text("Why sport/hockey").wait_for()
    assert "sport/hockey" in labels(page)
    first = page.locator("#scores button").first
    assert first.get_attribute("aria-pressed") == "true"
    assert "given" in first.inner_text()
    # The bar of a given label reaches beyond its mark.
    bar = first.locator(".bar i").bounding_box()
    mark = first.locator(".bar b").bounding_box()
    assert bar["x"] + bar["width"] >= mark["x"]
    marked = page.locator("#reading mark")
    words = {w.lower(): c for w, c in marked.evaluate_all("all => all.map(m => [m.textContent, m.className])")}
    for word in ["goalie", "puck", "skater", "penalty", "overtime"]:
        assert words.get(word, "").startswith("f"), words
    expect(page.locator("#reading"), "the text itself is unchanged").to_have_text(HOCKEY, use_inner_text=True)
    page.screenshot(path=shots / "try-light.png", full_page=True)
    # Another label: its words, its threshold.
    page.locator("#scores button", has_text="trade/oil").click()
    page.get_by_text("Why trade/oil").wait_for()
    expect(page.locator("#threshold-title")).to_have_text("Threshold of trade/oil", use_inner_text=True)
    classes = page.locator("#reading mark").evaluate_all("all => all.map(m => m.className)")
    assert any(c.startswith("a") for c in classes), "words of another subject speak against it"
    write(page, OIL)
    page.locator("#verdict", has_text="trade/oil").wait_for()
    write(page, "")
    page.get_by_text("Labels appear here").wait_for()
    assert labels(page) == ""


def test_two_subjects_give_two_labels(open_page):
    page = open_page()
    write(page, f"{HOCKEY} {OIL} {HOCKEY} {OIL}")
    page.locator("#verdict", has_text="2 labels").wait_for()
    assert "sport/hockey" in labels(page) and "trade/oil" in labels(page)


def test_the_slider_shows_what_a_threshold_does(open_page, server, shots):
    page = open_page()
    write(page, HOCKEY)
    page.get_by_text("Threshold of sport/hockey").wait_for()
    slider = page.locator("#threshold-slider")
    slider.wait_for()
    curve = ask(f"{server}/v1/label?label=sport/hockey")["curve"]
    facts = lambda: page.locator("#threshold .fact b").all_inner_texts()  # noqa: E731
    before = facts()
    slider.focus()
    page.keyboard.press("End")
    highest = curve[0]
    assert facts()[1:3] == [f"{100 * highest['precision']:.0f} %", f"{100 * highest['recall']:.0f} %"]
    assert facts() != before
    # The mark moved, and the label may be lost by it: the page says that this is the reader's doing.
    expect(page.locator("#scores button[aria-pressed=true] .bar b.yours")).to_have_count(1)
    page.keyboard.press("Home")
    lowest = curve[-1]
    assert facts()[2] == f"{100 * lowest['recall']:.0f} %"
    assert "given by you" in page.locator("#scores button[aria-pressed=true]").inner_text()
    page.screenshot(path=shots / "slider.png", full_page=True)
    page.get_by_role("button", name="Back to the model’s").click()
    assert facts() == before
    expect(page.locator(".yours")).to_have_count(0)


def test_a_label_has_a_page(open_page, shots):
    page = open_page()
    page.get_by_role("tab", name="Labels").click()
    page.get_by_label("Find a label").fill("hock")
    expect(page.locator("#labels-count")).to_have_text("1 of 6 labels", use_inner_text=True)
    page.get_by_role("button", name="sport/hockey").click()
    page.get_by_role("heading", name="sport/hockey").wait_for()
    expect(page).to_have_url(re.compile(r"#/label/sport%2Fhockey\?model=news$"))
    speaks_for = page.locator("#label-page .two > div").first
    expect(speaks_for).to_contain_text("puck")
    expect(page.locator("#label-page .fact", has_text="F1").first).to_be_visible()
    expect(page.locator("#label-page svg.curve")).to_be_visible()
    page.screenshot(path=shots / "label.png", full_page=True)
    page.go_back()
    page.get_by_label("Find a label").wait_for()
    page.go_forward()
    page.get_by_role("button", name="Try these words").click()
    page.get_by_text("Why sport/hockey").wait_for()
    # An address can be sent to a colleague; a label that is not there is said so.
    other = open_page(path="/#/label/trade%2Foil")
    other.get_by_role("heading", name="trade/oil").wait_for()
    wrong = open_page(path="/#/label/trade%2Foill", expect_errors=True)
    wrong.get_by_text("did you mean trade/oil").wait_for()


def test_the_model_and_the_study_have_tabs(open_page, shots):
    page = open_page()
    page.get_by_role("tab", name="The model").click()
    page.get_by_text("training documents", exact=True).wait_for()
    expect(page.locator("#model-page")).to_contain_text("svm")
    page.screenshot(path=shots / "model.png", full_page=True)
    page.get_by_role("tab", name="Study").click()
    heading = page.frame_locator("#study").get_by_role("heading", name="Which words")
    heading.wait_for()
    assert heading.evaluate("h => getComputedStyle(h).color") == "rgb(0, 128, 0)", "its own styles apply"


def test_a_taxonomy_lights_up(open_page, shots):
    page = open_page()
    page.locator("#model").select_option("tree")
    tree = page.get_by_role("tree")
    tree.wait_for()
    write(page, HOCKEY)
    end = page.locator('[role=treeitem][data-label="sport/hockey"]')
    page.locator('[data-label="sport/hockey"].end').wait_for()
    assert "lit" in page.locator('[role=treeitem][data-label="sport"]').get_attribute("class")
    assert page.locator('[role=treeitem][data-label="trade"]').get_attribute("class") in (None, "")
    expect(end, "the path is open").to_be_visible()
    page.screenshot(path=shots / "taxonomy.png", full_page=True)
    # By keyboard: to the root above, closed, opened again, down to a leaf, chosen.
    page.locator('[role=treeitem][data-label="sport"] > .node .name').click()
    page.keyboard.press("ArrowLeft")
    if end.is_visible():
        page.keyboard.press("ArrowLeft")
    expect(end).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(end).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_text("Why sport/football").wait_for()


def test_neighbours_are_named(open_page):
    page = open_page()
    page.locator("#model").select_option("neighbours")
    write(page, HOCKEY)
    page.get_by_text("Nearest training documents with this label").wait_for()
    assert page.locator("#reading mark").count() > 2


def test_with_the_keyboard_alone(open_page):
    page = open_page()
    page.get_by_role("tab", name="Try a text").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the text"
    focused = lambda: page.evaluate("document.activeElement.id || document.activeElement.dataset.label")  # noqa: E731
    while focused() != "tab-try":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert focused() == "tab-labels"
    expect(page.locator("#labels"), "the tab's part follows its address").to_be_visible()
    page.keyboard.press("End")
    assert focused() == "tab-study"
    page.keyboard.press("Home")
    assert focused() == "tab-try"
    while focused() != "text":
        page.keyboard.press("Tab")
    page.keyboard.type(HOCKEY)
    page.get_by_text("Why sport/hockey").wait_for()
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused() == "sport/hockey":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "focus can be seen"
    page.keyboard.press("ArrowDown")
    second = focused()
    assert second != "sport/hockey"
    page.keyboard.press("Enter")
    page.get_by_text(f"Why {second}").wait_for()
    assert focused() == second, "choosing does not lose the place"
    while focused() != "threshold-slider":
        page.keyboard.press("Tab")
    before = page.locator("#threshold-slider").get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    assert page.locator("#threshold-slider").get_attribute("aria-valuetext") != before


@pytest.mark.parametrize("name, text", [
    ("script", '<script>window.hit = 1</script> <img src=x onerror="window.hit = 1"> puck </textarea><b>goalie</b>'),
    ("emoji", "🏒🏒 The goalie 👩‍👩‍👧 stopped the puck 🥅 — naïve café\u0301, 漢字 penalty \u202eoverturn\u202c."),
])
def test_any_text_is_only_text(open_page, shots, name, text):
    page = open_page()
    write(page, text)
    page.locator("#reading mark").first.wait_for()
    assert page.locator("#reading").evaluate("n => n.textContent") == text
    marked = page.locator("#reading mark").all_inner_texts()
    assert "puck" in marked and "goalie" in marked, "words are marked where they are"
    assert page.evaluate("window.hit") is None
    expect(page.locator("#reading script, #reading img, #reading b")).to_have_count(0)
    page.screenshot(path=shots / f"text-{name}.png", full_page=True)


def test_a_megabyte(open_page):
    page = open_page()
    text = (HOCKEY + " 🏒\n") * (1_000_000 // len(HOCKEY))
    page.evaluate("t => { const n = document.getElementById('text'); n.value = t; n.dispatchEvent(new Event('input')); }", text)
    page.get_by_text("Why sport/hockey").wait_for(timeout=60_000)
    page.get_by_text("characters are shown").wait_for(timeout=60_000)
    assert "sport/hockey" in labels(page)
    write(page, OIL)
    page.get_by_text("Why trade/oil").wait_for()


def test_a_file_is_dropped(open_page):
    page = open_page()
    drop = """([text, size]) => {
      const data = new DataTransfer();
      data.items.add(new File([text ?? "x".repeat(size)], "letter.txt", { type: "text/plain" }));
      document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    page.get_by_text("No text at hand?").wait_for()
    page.evaluate(drop, [OIL, 0])
    page.get_by_text("Why trade/oil").wait_for()
    assert page.locator("#text").input_value() == OIL
    page.evaluate(drop, [None, 9_000_000])
    page.locator("#text-problem", has_text="letter.txt has 9,000,000 bytes").wait_for()


def test_errors_are_shown_where_they_happen(open_page, models):
    with serving(models["news"], "--max-body", "2000") as address:
        page = open_page(address, expect_errors=True)
        write(page, HOCKEY * 40)
        page.locator("#text-problem", has_text="larger than 2000 bytes").wait_for()
        write(page, HOCKEY)
        page.get_by_text("Why sport/hockey").wait_for()
        expect(page.locator("#text-problem")).to_be_hidden()
        page.context.set_offline(True)
        write(page, OIL)
        page.locator("#scores-problem", has_text="cannot be reached").wait_for()
        page.context.set_offline(False)
        write(page, OIL + " ")
        page.get_by_text("Why trade/oil").wait_for()
        expect(page.locator("#scores-problem")).to_be_hidden()


def test_a_token_is_asked_for(open_page, models, study):
    with serving(models["news"], "--study", study, env={"TAMIS_TOKEN": "a-long-secret-token"}) as address:
        page = open_page(address, expect_errors=True)
        page.get_by_label("Token").fill("not-the-right-token")
        page.keyboard.press("Enter")
        page.get_by_text("This is not the token.").wait_for()
        page.get_by_label("Token").fill("a-long-secret-token")
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("No text at hand?").wait_for()
        write(page, HOCKEY)
        page.get_by_text("Why sport/hockey").wait_for()
        page.get_by_role("tab", name="Study").click()
        page.frame_locator("#study").get_by_role("heading", name="Which words").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_names(open_page, shots, scheme):
    page = open_page(color_scheme=scheme)
    write(page, HOCKEY + " The wheat harvest and the vaccine.")
    page.get_by_text("Why sport/hockey").wait_for()
    page.locator("#reading mark.a1, #reading mark.a2, #reading mark.a3, #reading mark.a4").first.wait_for()
    for selector in ["body", "#hint", ".mute", "#tab-try", "#tab-labels", ".chip", "#scores .value", "#reading",
                     "mark.f4", "mark.f3", "mark.a3", "#threshold .fact span", "button.quiet", "footer a"]:
        if page.locator(selector).count():
            assert contrast(page, selector) >= 4.5, f"{selector} in {scheme}"
    # Everything that can be operated has a name.
    unnamed = page.evaluate("""() => [...document.querySelectorAll("button, input, select, textarea, iframe, [role=region]")]
      .filter((n) => !(n.textContent.trim() || n.getAttribute("aria-label") || n.title || n.labels?.length))
      .map((n) => n.outerHTML.slice(0, 80))""")
    assert not unnamed, unnamed
    page.screenshot(path=shots / f"try-{scheme}.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(open_page, shots, scheme):
    page = open_page(viewport={"width": 360, "height": 740}, color_scheme=scheme, has_touch=True, is_mobile=True)
    write(page, HOCKEY)
    page.get_by_text("Why sport/hockey").wait_for()
    page.screenshot(path=shots / f"phone-{scheme}.png", full_page=True)
    fits = "document.documentElement.scrollWidth <= innerWidth"
    assert page.evaluate(fits)
    # The labels come right after the text, the reasons after them.
    place = lambda selector: page.locator(selector).bounding_box()["y"]  # noqa: E731
    assert place("#text") < place("#scores") < place("#reading")
    for name in ["Labels", "The model", "Study"]:
        page.get_by_role("tab", name=name).tap()
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        page.wait_for_timeout(200)
        assert page.evaluate(fits), name
    page.get_by_role("tab", name="Labels").tap()
    page.get_by_role("button", name="trade/oil").tap()
    page.get_by_role("heading", name="trade/oil").wait_for()
    assert page.evaluate(fits)
    page.screenshot(path=shots / f"phone-label-{scheme}.png", full_page=True)


def test_long_names_do_not_break_the_page(open_page, shots, tmp_path):
    import json
    import subprocess

    from conftest import TAMIS

    name = "a very long label name with " + "Donaudampfschifffahrtsgesellschaftskapitän" * 3
    lines = [{"text": f"puck ice rink {i}", "labels": [name]} for i in range(20)]
    lines += [{"text": f"wheat corn harvest {i}", "labels": ["<b>bold</b> & \"quoted\""]} for i in range(20)]
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    fit = ["fit", tmp_path / "long.jsonl", "-o", tmp_path / "long.model", "-q", "--classifier", "bayes", "--folds", "2"]
    subprocess.run([TAMIS, *fit, "--by", "chi2max", "--features", "20"], check=True)
    with serving(tmp_path / "long.model") as address:
        page = open_page(address, viewport={"width": 360, "height": 740})
        write(page, "puck wheat")
        page.locator("#reading mark").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator("#scores").get_by_text('<b>bold</b> & "quoted"')).to_be_visible()
        page.screenshot(path=shots / "phone-long-names.png", full_page=True)
        assert re.search(r"Why ", page.locator("#why-title").inner_text())


def test_examples_and_one_sentence(open_page, server, shots):
    page = open_page()
    page.get_by_text("No text at hand?").wait_for()
    about = page.locator("#about").inner_text()
    assert "6 labels" in about and "the first label is right for" in about
    examples = ask(f"{server}/v1/model?model=news")["examples"]
    assert 3 <= len(examples) <= 5
    page.screenshot(path=shots / "examples.png", full_page=True)
    page.locator(".example").first.click()
    expect(page.locator("#text")).to_have_value(examples[0]["texts"]["text"])
    page.locator("#verdict", has_text=examples[0]["labels"][0]).wait_for()


def test_words_first_and_the_margin_on_touch(open_page):
    page = open_page(has_touch=True, is_mobile=True, viewport={"width": 400, "height": 800})
    write(page, HOCKEY)
    page.get_by_text("Why sport/hockey").wait_for()
    first = page.locator("#scores button").first
    assert re.match(r"(clear|likely|borderline) · \d+ %", first.locator(".value").inner_text())
    first.tap()
    tip = page.locator("#tip")
    tip.wait_for()
    assert re.search(r"score .* threshold", tip.inner_text())


def test_the_sum_and_a_word_struck_out(open_page, server, shots):
    page = open_page()
    write(page, HOCKEY)
    page.get_by_text("Why sport/hockey").wait_for()
    sum_of = page.locator("#sum")
    sum_of.wait_for()
    reason = ask(f"{server}/v1/explain", {"model": "news", "text": HOCKEY, "label": "sport/hockey", "top": 10000})["reasons"][0]
    total = reason["bias"] + sum(word["adds"] for word in reason["words"])
    assert abs(total - reason["score"]) < 1e-6
    shown = page.locator("#sum .strong b").inner_text().replace("−", "-").lstrip("= ")
    assert abs(float(shown) - total) < 0.01
    # The strongest word's bar and its marks light up together.
    bar = page.locator("#words [data-word]").first
    word = bar.get_attribute("data-word")
    bar.hover()
    expect(page.locator("#reading mark.same").first).to_have_text(re.compile(f"^{word}$", re.IGNORECASE))
    page.screenshot(path=shots / "sum.png", full_page=True)
    bar.click()
    page.locator("#reading .struck").wait_for()
    assert page.locator("#reading .struck").inner_text().lower() == word
    expect(page.locator("#reading"), "it is still there to read").to_have_text(HOCKEY, use_inner_text=True)
    without = re.sub(rf"(?i)\b{word}\b", " " * len(word), HOCKEY)
    after = ask(f"{server}/v1/explain", {"model": "news", "text": without, "label": "sport/hockey"})["reasons"][0]["score"]
    page.wait_for_function("score => Math.abs(parseFloat(document.querySelector('#sum .strong b').textContent.replace('= ', '').replace('−', '-')) - score) < 0.01", arg=after)
    page.locator("#reading .struck").click()
    page.locator("#reading .struck").wait_for(state="detached")
    page.locator("#reading mark", has_text=re.compile("puck", re.I)).click()
    page.get_by_role("button", name="Put words back").click()
    page.locator("#reading .struck").wait_for(state="detached")


def test_several_labels_in_one_text(open_page, shots):
    page = open_page()
    write(page, f"{HOCKEY} {OIL} {HOCKEY} {OIL}")
    page.get_by_role("button", name="All labels at once").click()
    page.get_by_text("Why these 2 labels").wait_for()
    page.locator("#reading mark.l2").first.wait_for()
    colour = lambda word: page.locator("#reading mark", has_text=word).first.get_attribute("class")  # noqa: E731
    assert colour("puck") != colour("barrel") and colour("puck") == colour("goalie")
    expect(page.locator("#scores .dot")).to_have_count(2)
    page.screenshot(path=shots / "overlaid.png", full_page=True)
    page.locator("#scores button").nth(3).click()
    page.locator("#words .row").first.wait_for()


def test_words_that_are_not_known_give_no_label(open_page):
    page = open_page()
    write(page, "zzzz qqqq xxyyzz")
    page.locator("#verdict", has_text="No label").wait_for()
    expect(page.locator("#scores .chip")).to_have_count(0)
    assert all(width == 0 for width in page.locator("#scores .bar i").evaluate_all("all => all.map(i => i.offsetWidth)"))


def test_a_choice_is_about_one_text(open_page):
    page = open_page()
    write(page, HOCKEY)
    page.get_by_text("Why sport/hockey").wait_for()
    page.locator("#scores button", has_text="trade/oil").click()
    page.get_by_text("Why trade/oil").wait_for()
    write(page, HOCKEY + " The puck.")
    page.get_by_text("Why sport/hockey").wait_for()


def test_addresses_hold_model_label_and_text(open_page, server):
    page = open_page(path="/#/try?model=tree&label=trade%2Foil&text=" + OIL.replace(" ", "+").replace(";", "%3B"))
    page.get_by_text("Why trade/oil").wait_for()
    assert page.locator("#model").input_value() == "tree" and page.locator("#text").input_value() == OIL
    expect(page, "a text stays in the address only where somebody asks for it").not_to_have_url(re.compile("text="))
    page.locator("#model").select_option("news")
    page.wait_for_function("location.hash.includes('model=news')")
    for odd in ["/#/label/%E0%A4", "/#/nowhere/at/all", "/#/?x=%zz", "/#/label/"]:
        other = open_page(path=odd)
        other.get_by_text("No text at hand?").wait_for()
    wrong = open_page(path="/#/try?model=nobody")
    wrong.get_by_text("There is no model nobody here").wait_for()


def test_take_it_along(open_page, server, browser):
    import json
    import shlex
    import subprocess

    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    text = 'A "tanker" with crude; it\'s the refinery\'s barrel.'
    write(page, text)
    page.get_by_text("Why trade/oil").wait_for()
    copied = lambda: page.evaluate("navigator.clipboard.readText()")  # noqa: E731
    page.get_by_role("button", name="Copy as curl").click()
    page.get_by_text("The command is copied.").wait_for()
    command = shlex.split(copied().replace("\\\n", " "))
    assert command[0] == "curl" and json.loads(command[-1])["text"] == text
    assert ask(command[3], json.loads(command[-1]))["labels"] == ["trade/oil"]
    page.get_by_role("button", name="Copy as Python").click()
    page.get_by_text("The program is copied.").wait_for()
    done = subprocess.run(["python3", "-c", copied()], capture_output=True, text=True, check=True)
    assert "trade/oil" in done.stdout
    with page.expect_download() as download:
        page.get_by_role("button", name="Download JSON").click()
    assert json.loads(download.value.path().read_text())["labels"] == ["trade/oil"]
    page.get_by_role("button", name="Copy a link").click()
    page.get_by_text("The address, with the text in it, is copied.").wait_for()
    other = open_page(path=copied().removeprefix(server))
    other.get_by_text("Why trade/oil").wait_for()
    assert other.locator("#text").input_value() == text


@pytest.mark.parametrize("name, content", [
    ("mail.csv", 'nr;Message\r\n1;"' + HOCKEY + ' ""quoted""; and more"\r\n2;' + OIL.replace(";", ",") + "\r\n3;zzzz\r\n"),
    ("mail.jsonl", '{"text": "' + HOCKEY + '", "n": 1}\n\n{"text": "' + OIL + '"}\n{"text": "zzzz"}\n'),
])
def test_a_table_is_dropped(open_page, shots, name, content):
    import csv

    page = open_page()
    page.get_by_text("No text at hand?").wait_for()
    page.evaluate("""([name, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name));
      document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }""", [name, content])
    rows = page.locator("#batch-table tbody tr")
    rows.nth(2).wait_for()
    assert "sport/hockey" in rows.nth(0).inner_text() and "trade/oil" in rows.nth(1).inner_text()
    assert "no word is known" in rows.nth(2).inner_text()
    page.locator("#batch-table th button", has_text="Labels").click()
    page.locator("#batch-table th button", has_text="Labels").click()
    expect(rows.nth(0), "sorted, downwards").to_contain_text("trade/oil")
    page.screenshot(path=shots / f"table-{name}.png", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    with open(download.value.path(), newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["tamis_labels"] for row in table] == ["sport/hockey", "trade/oil", ""]
    key = "Message" if name.endswith("csv") else "text"
    assert table[0][key].startswith(HOCKEY)


def test_a_bad_table_is_refused_with_its_line(open_page):
    page = open_page()
    page.get_by_text("No text at hand?").wait_for()
    page.evaluate("""() => {
      const data = new DataTransfer();
      data.items.add(new File(['{"text": "a"}\\n{"text": '], "bad.jsonl"));
      document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }""")
    page.locator("#batch-problem", has_text="bad.jsonl, line 2").wait_for()


def test_two_models_side_by_side(open_page, shots):
    page = open_page()
    page.locator("#beside-model").select_option("neighbours")
    write(page, HOCKEY)
    page.locator("#beside button").first.wait_for()
    page.locator("#beside-verdict", has_text="Both say the same").wait_for()
    expect(page.locator("#beside-title")).to_have_text("Labels by neighbours", use_inner_text=True)
    page.screenshot(path=shots / "beside.png", full_page=True)
    expect(page).to_have_url(re.compile("beside=neighbours"))


def test_branches_close_and_can_be_found(open_page):
    page = open_page(path="/#/try?model=tree")
    write(page, HOCKEY)
    page.locator('[data-label="sport/hockey"].end').wait_for()
    write(page, OIL)
    page.locator('[data-label="trade/oil"].end').wait_for()


def test_the_model_tells_what_it_mistakes(open_page, tmp_path, shots):
    import subprocess

    from conftest import TAMIS

    corpus, chosen = tmp_path / "topics.jsonl", tmp_path / "chosen.model"
    subprocess.run([TAMIS, "synth", corpus, "-n", "400"], check=True)
    subprocess.run([TAMIS, "fit", corpus, "-o", chosen, "-q", "--effort", "quick", "--folds", "2"], check=True)
    with serving(chosen) as address:
        page = open_page(address, path="/#/model")
        page.get_by_text("What fewer words would cost").wait_for()
        details = ask(f"{address}/v1/model")
        assert page.locator("#model-page circle.dot").count() == len(details["frontier"]) > 2
        if details["confusions"]:
            expect(page.locator("#confusions tbody tr")).to_have_count(len(details["confusions"]))
        page.get_by_text("What these names mean").click()
        assert page.locator(".glossary li").count() >= 2
        page.screenshot(path=shots / "model-chosen.png", full_page=True)


def test_a_new_file_is_taken_over(open_page, models, tmp_path):
    import shutil

    shutil.copy(models["news"], tmp_path / "served.model")
    with serving(tmp_path / "served.model", "--reload", "0.2") as address:
        page = open_page(address)
        write(page, HOCKEY)
        page.get_by_text("Why sport/hockey").wait_for()
        shutil.copy(models["tree"], tmp_path / "next.model")
        (tmp_path / "next.model").rename(tmp_path / "served.model")
        for _ in range(100):
            if ask(f"{address}/v1/models")["models"][0]["generation"] == 2:
                break
            page.wait_for_timeout(100)
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        page.get_by_text("was replaced by a new file").wait_for()
        page.get_by_role("tree").wait_for()
        page.get_by_text("Why sport/hockey").wait_for()


def test_a_deep_taxonomy_of_long_names_stays_readable(open_page, shots, tmp_path):
    import json
    import subprocess

    from conftest import TAMIS

    long = "Improper Neutralization of Special Elements used in an Output of a Downstream Component"
    taxonomy = ["1\t\tImproper Control of a Resource Through its Lifetime in a Very Long Pillar", f"2\t1\t{long} (Injection)", f"3\t2\t{long} (OS Command Injection and Relatives)",
                "4\t1\tUncontrolled Resource Consumption by an Unauthenticated Remote Peer of the Service", "5\t\tInsufficient Verification of Data Authenticity"]
    (tmp_path / "cwe.tsv").write_text("\n".join(taxonomy), encoding="utf-8")
    words = {"3": "shell command injection quote", "4": "memory exhaustion loop flood", "5": "signature certificate forged trust"}
    lines = [{"text": f"{w} {i} report", "labels": [c]} for i in range(30) for c, w in words.items()]
    (tmp_path / "cwe.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for answers in ["best", "all"]:
        fit = ["fit", tmp_path / "cwe.jsonl", "--taxonomy", tmp_path / "cwe.tsv", "--answers", answers, "-o", tmp_path / f"{answers}.model", "-q"]
        subprocess.run([TAMIS, *fit], check=True)
    with serving(tmp_path / "best.model", tmp_path / "all.model") as address:
        for model in ["best", "all"]:
            page = open_page(address, path=f"/#/try?model={model}")
            write(page, "a shell command injection by a forged certificate")
            page.locator("#scores button").first.wait_for()
            page.wait_for_timeout(300)
            narrowest = min(page.locator("#scores .name").evaluate_all("all => all.map(n => n.offsetWidth)"))
            assert narrowest > 150, "names have room"
            assert page.evaluate("document.documentElement.scrollHeight") < 3500
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            note = page.locator("#scores-note").inner_text()
            if model == "best":
                assert "No threshold decides here" in note
                expect(page.locator("#scores .stop, #scores .bar b")).to_have_count(0)
            expect(page.locator("#scores .code").first, "codes stand beside names").to_be_visible()
            page.screenshot(path=shots / f"long-taxonomy-{model}.png", full_page=True)


@pytest.mark.parametrize("path", ["/#/try", "/#/labels", "/#/model", "/#/label/trade%2Foil"])
def test_headings_make_an_outline(open_page, path):
    page = open_page(path=path)
    page.wait_for_timeout(300)
    levels = page.evaluate("""() => [...document.querySelectorAll("h1, h2, h3")].filter((h) => h.checkVisibility()).map((h) => Number(h.tagName[1]))""")
    assert levels[0] == 1, levels
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:])), levels
