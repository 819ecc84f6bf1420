// The page's own script. It stands behind the verifier's module in one block: `verify`, `readPublicKey` and `Refused` are
// that module's. Texts of a record reach the page as text nodes alone. The same block is what a worker runs, which has no
// page: it verifies, so that the page stays usable meanwhile.
if (typeof document === "undefined") {
  globalThis.onmessage = async ({ data }) => {
    const { verdict, detail, checks, failures } = await verify(data);
    globalThis.postMessage({ verdict, detail, checks, failures });
  };
} else {
  const PAGE_LIMIT = 5000;
  const STATUS_WORDS = { pass: "pass", fail: "FAIL", skip: "not checked" };
  const by = (id) => document.getElementById(id);

  const make = (name, properties = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };

  const json = (id) => {
    const block = by(id);
    return block === null ? null : JSON.parse(block.textContent);
  };

  // Whatever could drive the text around it is shown as its number, as in the rest of the page.
  const plain = (text) =>
    text.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (character) => {
      const code = character.codePointAt(0);
      return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
    });

  // ---- bytes that the page holds

  const bytesOf = (coded) => Uint8Array.from(atob(coded), (unit) => unit.charCodeAt(0));

  const unpack = async (id) => {
    const block = by(id);
    if (block === null) return null;
    const stream = new Blob([bytesOf(block.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  const unpackDeltas = async () => {
    const bytes = await unpack("deltas");
    if (bytes === null) return null;
    const texts = Object.entries(JSON.parse(new TextDecoder().decode(bytes)));
    return new Map(texts.map(([digest, text]) => [digest, new TextEncoder().encode(text)]));
  };

  const unpackResponses = async () => {
    const bytes = await unpack("responses");
    if (bytes === null) return null;
    const bodies = Object.entries(JSON.parse(new TextDecoder().decode(bytes)));
    return new Map(bodies.map(([path, coded]) => [path, bytesOf(coded)]));
  };

  // `whyNot` is, by the name of a check, why this page does not carry what it needs.
  const own = {
    named: "the receipt and the ledger that this page holds",
    whyNot: json("why-not") ?? {},
    load: async () => ({
      receipt: await unpack("receipt"),
      ledger: await unpack("ledger"),
      deltas: await unpackDeltas(),
      checkpoints: await unpack("checkpoints"),
      responses: await unpackResponses(),
    }),
  };
  if (by("ledger") === null) own.named = "the receipt that this page holds, without its ledger";
  let subject = own;

  // ---- the verdict

  const nobody = (checks) =>
    checks.some(({ name, status }) => name === "signature" && status === "pass")
      ? "a key signed that you did not name"
      : "no key vouches for it";

  function inWords(verdict, hasLedger, named) {
    const { checks, failures } = verdict;
    switch (verdict.verdict) {
      case "failed":
        return `Not to be relied on: ${failures.length === 1 ? "one check" : `${failures.length} checks`} failed, ` +
          `the first is ${checks.find(({ status }) => status === "fail").name}.`;
      case "incomplete":
        return "What is recorded holds together, and the record itself says that it is not whole.";
      case "verified":
        return "The receipt is what its ledger gives, and the key you named vouches for it.";
      case "unreadable":
        return `Nothing was checked: ${verdict.detail}`;
      default:
        if (!hasLedger && named) return "The receipt agrees with itself and with the key you named; no ledger bears it out.";
        if (!hasLedger) return `The receipt agrees with itself. Not established: that a ledger bears it out, or who wrote it (${nobody(checks)}).`;
        return `The receipt is what its ledger gives. Not established: who wrote the two (${nobody(checks)}), or that nothing happened outside the record.`;
    }
  }

  function show(word, words, checks) {
    for (const name of ["verdict", "verdict-below"]) {
      const place = by(name);
      place.className = `verdict ${word}`;
      place.replaceChildren(make("strong", {}, word === "busy" ? "Checking…" : word.toUpperCase()), " ", plain(words));
    }
    const body = checks.map(({ name, status, detail }) =>
      make("tr", { className: `check-${status}` },
        make("th", { scope: "row" }, name), make("td", {}, STATUS_WORDS[status] ?? status), make("td", {}, plain(detail))));
    const failed = checks.filter(({ status }) => status === "fail").map(({ name, detail }) =>
      make("li", {}, make("strong", {}, name), ` ${plain(detail)}`));
    const table = make("table", {},
      make("caption", {}, `${checks.length} checks, in their order`),
      make("thead", {}, make("tr", {}, ...["Check", "Outcome", "In words"].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...body));
    const region = make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "Checks" }, table);
    by("checks").replaceChildren(
      ...(failed.length === 0 ? [] : [make("h4", {}, "What failed"), make("ul", { className: "failures" }, ...failed)]),
      ...(checks.length === 0 ? [] : [region]),
    );
  }

  const keysNamed = () => {
    const text = by("key").value.trim();
    return text === "" ? [] : [readPublicKey(text)];
  };

  // Lets the page be drawn before the work begins.
  const drawn = () => new Promise((done) => setTimeout(done, 0));

  // Of several checks that were asked for one after another, only the last one's outcome is shown.
  let turn = 0;

  function begin(words) {
    for (const button of document.querySelectorAll(".verify")) button.disabled = true;
    show("busy", words, []);
    turn += 1;
    return turn;
  }

  function end(mine, ...shown) {
    if (mine !== turn) return;
    show(...shown);
    for (const button of document.querySelectorAll(".verify")) button.disabled = false;
  }

  // By a worker of this very block. It is none of modules: of a page on the disk, browsers refuse those.
  const verifyAside = (given) =>
    new Promise((resolve, reject) => {
      const program = by("program").textContent.replace(/^export (?=const )/gm, "");
      const url = URL.createObjectURL(new Blob(['"use strict";', program], { type: "text/javascript" }));
      const worker = new Worker(url);
      const ended = (settle, value) => {
        worker.terminate();
        URL.revokeObjectURL(url);
        settle(value);
      };
      worker.onmessage = ({ data }) => ended(resolve, data);
      worker.onerror = worker.onmessageerror = (event) => ended(reject, event);
      worker.postMessage(given);
    });

  // Where a page may have no worker, and for what one cannot do, here.
  const judged = (given) => verifyAside(given).catch(() => drawn().then(() => verify(given)));

  async function check() {
    const mine = begin(`This checks ${subject.named}.`);
    await drawn();
    try {
      const publicKeys = keysNamed();
      const { named, load, whyNot = {} } = subject;
      const given = await load();
      const verdict = await judged({ ...given, publicKeys });
      for (const told of verdict.checks) {
        if (told.status === "skip" && whyNot[told.name] !== undefined) told.detail = whyNot[told.name];
      }
      const words = inWords(verdict, given.ledger !== null, publicKeys.length > 0);
      end(mine, verdict.verdict, `${words} Checked: ${named}.`, verdict.checks);
    } catch (error) {
      end(mine, "unreadable", error instanceof Refused ? error.message : `The check could not be made: ${error}`, []);
    }
  }

  // ---- other files

  // By how they begin: an event's canonical form begins with its data. What is neither is told by who reads it.
  const begins = (bytes, pattern) => pattern.test(new TextDecoder().decode(bytes.subarray(0, 4096)));
  const isLedger = ({ bytes }) => begins(bytes, /^\{"data":/);
  const isReceipt = (file) => begins(file.bytes, /^\s*\{/) && !isLedger(file);

  async function contentsOf(files) {
    const found = [];
    for (const file of files) found.push({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) });
    return found;
  }

  async function choose(files) {
    if (files.length === 0) return;
    const mine = begin("The files are read.");
    let chosen;
    try {
      chosen = await contentsOf(files);
    } catch (error) {
      end(mine, "unreadable", `The files cannot be read: ${error}`, []);
      return;
    }
    if (mine !== turn) return;
    const receipt = chosen.find(isReceipt) ?? (chosen.length === 1 && !isLedger(chosen[0]) ? chosen[0] : undefined);
    const ledger = chosen.find((file) => file !== receipt);
    const told = [receipt, ledger].filter((file) => file !== undefined).map(({ name }) => plain(name));
    const kept = receipt === undefined ? await unpack("receipt") : receipt.bytes;
    if (receipt === undefined) told.unshift("this page's receipt");
    subject = {
      named: told.join(" with "),
      load: async () => ({ receipt: kept, ledger: ledger === undefined ? null : ledger.bytes, deltas: null, checkpoints: null }),
    };
    by("subject").textContent = `To be checked: ${subject.named}.`;
    by("own").hidden = false;
    await check();
  }

  function back() {
    subject = own;
    by("subject").textContent = `To be checked: ${own.named}.`;
    by("own").hidden = true;
    by("chosen").value = "";
  }

  async function save(button) {
    const bytes = await unpack(button.dataset.save);
    const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    make("a", { href: url, download: button.dataset.name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }

  function listenForFiles() {
    const drop = by("drop");
    by("chosen").addEventListener("change", () => choose(by("chosen").files));
    for (const name of ["dragover", "dragleave", "drop"]) {
      // Anywhere on the page: a file that misses the box must not replace the page.
      document.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragover");
        if (name === "drop" && event.dataTransfer !== null) choose(event.dataTransfer.files);
      });
    }
  }

  // ---- long tables

  const valueOf = (cell) => {
    const clock = /^(?:(\d+):)?(\d+):(\d\d\.\d+)$/.exec(cell);
    if (clock !== null) return (Number(clock[1] ?? 0) * 60 + Number(clock[2])) * 60 + Number(clock[3]);
    const number = Number.parseFloat(cell.replace(/[$,]/g, ""));
    return Number.isNaN(number) ? -1 : number;
  };

  function longTable(box) {
    const name = box.dataset.table;
    const { rows, numbers, marks, page } = json(`${name}-rows`);
    const [table, note] = [by(name), box.querySelector(".pages")];
    const order = rows.map((_, place) => place);
    const state = { shown: order, at: 0, size: page, column: -1, down: false };
    const count = make("span", { role: "status" });
    const button = (text, act) => make("button", { type: "button", onclick: () => { act(); draw(); } }, text);
    const first = button("Earlier", () => { state.at = Math.max(0, state.at - page); });
    const next = button("Later", () => { state.at += page; });
    const all = button("Show all", () => { state.size = state.size === page ? PAGE_LIMIT : page; state.at = 0; });
    const filter = make("input", { type: "search", id: `${name}-filter` });
    const label = make("label", { htmlFor: filter.id }, "Only rows with ");

    function draw() {
      const { shown, at, size } = state;
      const seen = shown.slice(at, at + size);
      table.tBodies[0].replaceChildren(...seen.map((place) =>
        make("tr", { className: marks[place] ?? "" },
          ...rows[place].map((cell, column) => make("td", { className: numbers.includes(column) ? "number" : "" }, cell)))));
      count.textContent = seen.length === 0 ? "no row" : `${(at + 1).toLocaleString("en")} to ${(at + seen.length).toLocaleString("en")} of ${shown.length.toLocaleString("en")}`;
      first.disabled = at === 0;
      next.disabled = at + size >= shown.length;
      all.hidden = shown.length <= page;
      all.textContent = size !== page ? `Show ${page} at a time` : shown.length > PAGE_LIMIT ? `Show ${PAGE_LIMIT.toLocaleString("en")} at a time` : "Show all";
    }

    function arrange() {
      const wanted = filter.value.trim().toLowerCase();
      state.shown = wanted === "" ? [...order] : order.filter((place) => rows[place].some((cell) => cell.toLowerCase().includes(wanted)));
      const { column, down } = state;
      if (column >= 0) {
        const isNumber = numbers.includes(column) || rows.every((row) => /^[\d:.]*$/.test(row[column]));
        const compare = isNumber
          ? (a, b) => valueOf(rows[a][column]) - valueOf(rows[b][column])
          : (a, b) => rows[a][column].localeCompare(rows[b][column], "en");
        state.shown.sort((a, b) => (down ? compare(b, a) : compare(a, b)) || a - b);
      }
      state.at = 0;
    }

    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const text = heading.textContent;
      const sort = button(text, () => {
        state.down = state.column === column ? !state.down : numbers.includes(column);
        state.column = column;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        arrange();
      });
      sort.className = "sort";
      heading.replaceChildren(sort);
    });
    filter.addEventListener("input", () => { arrange(); draw(); });
    note.replaceWith(make("div", { className: "pages" }, first, next, all, count, label, filter));
    draw();
  }

  // ---- the chart

  function readChart() {
    const [chart, data, read] = [by("chart"), json("chart-data"), by("chart-read")];
    if (chart === null || data === null || data.points.length === 0) return;
    let at = -1;
    const point = (place) => {
      at = Math.max(0, Math.min(data.points.length - 1, place));
      const [across, , words] = data.points[at];
      read.textContent = words;
      for (const [name, [left, right]] of Object.entries(data.frames)) {
        const line = chart.querySelector(`svg.${name} .pointer`);
        for (const end of ["x1", "x2"]) line.setAttribute(end, String(left + across * (right - left)));
        line.classList.add("on");
      }
    };
    const nearest = (event) => {
      const drawing = event.target.closest("svg");
      if (drawing === null) return;
      const box = drawing.getBoundingClientRect();
      const [left, right] = data.frames[drawing.classList[0]];
      const share = (((event.clientX - box.left) / box.width) * drawing.viewBox.baseVal.width - left) / (right - left);
      let best = 0;
      data.points.forEach(([across], place) => {
        if (Math.abs(across - share) < Math.abs(data.points[best][0] - share)) best = place;
      });
      point(best);
    };
    chart.addEventListener("pointermove", nearest);
    chart.addEventListener("pointerdown", nearest);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      point(at + step);
    });
  }

  // ---- files

  function openAll(button) {
    const files = [...by(button.dataset.opens).querySelectorAll("details")];
    const open = files.some((file) => !file.open);
    for (const file of files) file.open = open;
    button.textContent = open ? "Close all" : "Open all";
  }

  for (const button of document.querySelectorAll(".verify")) button.addEventListener("click", check);
  for (const button of document.querySelectorAll("[data-save]")) button.addEventListener("click", () => save(button));
  for (const button of document.querySelectorAll("[data-opens]")) button.addEventListener("click", () => openAll(button));
  for (const box of document.querySelectorAll("[data-table]")) longTable(box);
  by("own").addEventListener("click", back);
  listenForFiles();
  readChart();
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
}
