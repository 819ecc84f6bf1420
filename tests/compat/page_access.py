"""What is asked of a page that everybody is to be able to read and use, by a script in the page and by axe-core."""

from __future__ import annotations

from agent_lab import PLACES, compat_dir

# Each control has a name, each text stands out from its ground by 4.5 (3 where it is large), no id stands twice.
ACCESS = """(() => {
  const faults = [];
  const labels = (item) => [...(item.labels ?? [])].map((label) => label.textContent).join("");
  const name = (item) => (item.getAttribute("aria-label") || item.textContent || labels(item)).trim();
  for (const item of document.querySelectorAll("a, button, input, textarea, summary, [tabindex], svg[role]")) {
    if (name(item) === "") faults.push(`no name: ${item.outerHTML.slice(0, 80)}`);
  }
  for (const field of document.querySelectorAll("input, textarea")) {
    if (field.labels.length !== 1) faults.push(`no label: ${field.id}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: ${id}`);
  let level = 0;
  for (const { tagName } of document.querySelectorAll("h1, h2, h3, h4")) {
    if (Number(tagName[1]) > level + 1) faults.push(`a level is left out before ${tagName}`);
    level = Number(tagName[1]);
  }
  const parts = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)); };
  const ground = (item) => {
    if (item === null) return [255, 255, 255];
    const own = parts(getComputedStyle(item).backgroundColor);
    return own.length === 3 || own[3] === 1 ? own : over(own, ground(item.parentElement));
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const item = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() === "" || !item.checkVisibility()) continue;
    if (item.closest("script, :disabled") !== null) continue;
    const style = getComputedStyle(item);
    const below = ground(item);
    const ink = over(parts(item.closest("svg") === null ? style.color : style.fill), below);
    const [one, two] = [light(ink), light(below)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (two + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) faults.push(`${ratio.toFixed(2)}: ${item.outerHTML.slice(0, 100)}`);
  }
  return JSON.stringify([seen, faults]);
})()"""


def axe() -> str | None:
    """The accessibility checker axe-core, where it is installed."""
    path = compat_dir() / PLACES["axe-core"]
    return path.read_text("utf-8") if path.is_file() else None
