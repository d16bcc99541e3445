"""The page as people use it, in headless Chromium."""

import re

import pytest

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
    assert page.locator("#reading").inner_text() == HOCKEY, "the text itself is unchanged"
    page.screenshot(path=shots / "try-light.png", full_page=True)
    # Another label: its words, its threshold.
    page.locator("#scores button", has_text="trade/oil").click()
    page.get_by_text("Why trade/oil").wait_for()
    assert page.locator("#threshold-title").inner_text() == "Threshold of trade/oil"
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
    assert page.locator("#scores button[aria-pressed=true] .bar b.yours").count() == 1
    page.keyboard.press("Home")
    lowest = curve[-1]
    assert facts()[2] == f"{100 * lowest['recall']:.0f} %"
    assert "given by you" in page.locator("#scores button[aria-pressed=true]").inner_text()
    page.screenshot(path=shots / "slider.png", full_page=True)
    page.get_by_role("button", name="Back to the model’s").click()
    assert facts() == before
    assert page.locator(".yours").count() == 0


def test_a_label_has_a_page(open_page, shots):
    page = open_page()
    page.get_by_role("tab", name="Labels").click()
    page.get_by_label("Find a label").fill("hock")
    assert page.locator("#labels-count").inner_text() == "1 of 6 labels"
    page.get_by_role("button", name="sport/hockey").click()
    page.get_by_role("heading", name="sport/hockey").wait_for()
    assert page.url.endswith("#/label/sport%2Fhockey")
    speaks_for = page.locator("#label-page .two > div").first
    assert "puck" in speaks_for.inner_text()
    assert page.locator("#label-page .fact", has_text="F1").first.is_visible()
    assert page.locator("#label-page svg.curve").is_visible()
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
    assert "svm" in page.locator("#model-page").inner_text()
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
    assert end.is_visible(), "the path is open"
    page.screenshot(path=shots / "taxonomy.png", full_page=True)
    # By keyboard: to the root above, closed, opened again, down to a leaf, chosen.
    page.locator('[role=treeitem][data-label="sport"] > .node .name').click()
    page.keyboard.press("ArrowLeft")
    if end.is_visible():
        page.keyboard.press("ArrowLeft")
    assert not end.is_visible()
    page.keyboard.press("ArrowRight")
    assert end.is_visible()
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
    assert focused() == "tab-labels" and page.locator("#labels").is_visible()
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
    assert page.locator("#reading script, #reading img, #reading b").count() == 0
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
        assert page.locator("#text-problem").is_hidden()
        page.context.set_offline(True)
        write(page, OIL)
        page.locator("#scores-problem", has_text="cannot be reached").wait_for()
        page.context.set_offline(False)
        write(page, OIL + " ")
        page.get_by_text("Why trade/oil").wait_for()
        assert page.locator("#scores-problem").is_hidden()


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
        assert page.locator("#scores").get_by_text('<b>bold</b> & "quoted"').is_visible()
        page.screenshot(path=shots / "phone-long-names.png", full_page=True)
        assert re.search(r"Why ", page.locator("#why-title").inner_text())
