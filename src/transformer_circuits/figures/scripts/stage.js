// The stage (figures/stage.py): plays a line of text, step by step, in the strip that the page has
// already. A classic script without dependencies; a page may hold it more than once.
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const FEW = 3; // looks that are drawn where there is little room
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");

  // A strip with room for what moves over it.
  function line(strip) {
    const tokens = [...strip.querySelectorAll(".token")];
    const arcs = strip.appendChild(document.createElementNS(SVG, "svg"));
    arcs.setAttribute("class", "arcs");
    arcs.setAttribute("aria-hidden", "true");
    const carried = strip.appendChild(document.createElement("span"));
    carried.className = "carried";
    carried.setAttribute("aria-hidden", "true");
    carried.hidden = true;
    const notRead = document.createElement("span"); // over notes that are not read
    notRead.className = "not-read";
    notRead.setAttribute("aria-hidden", "true");
    return { strip, tokens, arcs, carried, notRead };
  }

  function start(stage) {
    if (stage.dataset.started) return;
    stage.dataset.started = "yes";
    const { runs, ...given } = JSON.parse(stage.querySelector("script[type='application/json']").textContent);
    const lines = [...stage.querySelectorAll(".strip")].map(line);
    let { strip, tokens, arcs, carried, notRead } = lines[0]; // those of the run that is shown
    const says = stage.querySelector(".says");
    const arcWords = stage.querySelector(".arc-words"); // on a phone arcs have no room for theirs
    const bars = [...stage.querySelectorAll(".bars button")];
    const was = stage.querySelector(".was"); // what the marks at the bars mean
    const knob = stage.querySelector("[role=switch]"); // off, it is the later half of the runs
    const choices = [...stage.querySelectorAll(".choice input")];
    const again = stage.querySelector(".play"), next = stage.querySelector(".next");
    const inTime = "inTime" in stage.dataset; // the runs are moments of a training
    // On a phone the line may have left the screen when its bars come; there it waits to be asked.
    const byItself = !STILL.matches && innerWidth > 640;
    let plays = again.textContent;
    if (!byItself && !inTime) again.textContent = plays = "Play";
    // What is under way has this number; whatever finds another number stops.
    let playing = 0;
    let shown = given.shown; // the step whose looks are seen at the end
    let told = false; // whether all bars have their ends before the steps come
    let beat = 0; // of a play, what comes next: the notes, then each step, then the end, then the notes

    const isOff = () => knob?.getAttribute("aria-checked") === "false";
    const run = () => runs[Number(choices.find((one) => one.checked)?.value ?? 0) + (isOff() ? runs.length / 2 : 0)];
    const whole = () => runs.find(({ line }) => line === run().line); // nothing is taken from it
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));

    // Where a token stands in the strip: the middle of its upper edge.
    function top(place) {
      const token = tokens[place].getBoundingClientRect();
      const around = strip.getBoundingClientRect();
      const scale = around.width / strip.offsetWidth || 1; // slides are scaled to the screen
      return { x: (token.left - around.left + token.width / 2) / scale, y: (token.top - around.top) / scale };
    }

    // A line through places, with round corners.
    function through(places) {
      const on = (a, b) => {
        const share = Math.min(8 / (Math.hypot(b.x - a.x, b.y - a.y) || 1), 0.5);
        return `${a.x + share * (b.x - a.x)} ${a.y + share * (b.y - a.y)}`;
      };
      const bends = places.slice(1, -1).map((bend, k) => `L${on(bend, places[k])}Q${bend.x} ${bend.y} ${on(bend, places[k + 2])}`);
      const [first, last] = [places[0], places.at(-1)];
      return `M${first.x} ${first.y}${bends.join("")}L${last.x} ${last.y}`;
    }

    const inFirst = (...places) => places.every(({ y }) => y < top(0).y + 4);

    // Within the first line an arc bends over it, so high for its width. Elsewhere it runs between the
    // lines, in one of three lanes, and from one to another along the margin: it must not lie on words.
    function way(a, b, steep, lane) {
      const high = Math.min(122, 18 + steep * Math.abs(a.x - b.x));
      const edge = 4 + 5 * lane, over = a.y - 8 - 7 * lane, above = b.y - 8 - 7 * lane;
      const margin = Math.abs(a.y - b.y) < 4 ? [] : [{ x: edge, y: over }, { x: edge, y: above }];
      return inFirst(a, b)
        ? `M${a.x} ${a.y - 2}C${a.x} ${a.y - high} ${b.x} ${b.y - high} ${b.x} ${b.y - 5}`
        : through([{ x: a.x, y: a.y - 2 }, { x: a.x, y: over }, ...margin, { x: b.x, y: above }, { x: b.x, y: b.y - 5 }]);
    }

    function drawn(d, className, width) {
      const path = arcs.appendChild(document.createElementNS(SVG, "path"));
      path.setAttribute("d", d);
      path.setAttribute("class", className);
      path.setAttribute("stroke-width", width);
      return path;
    }

    // What an arc says at its crown, where it has room.
    function say(path, a, b, words, kind = "") {
      if (!inFirst(a, b) || Math.abs(a.x - b.x) < 150) return;
      const text = arcs.appendChild(document.createElementNS(SVG, "text"));
      text.setAttribute("x", (a.x + b.x) / 2);
      text.setAttribute("y", path.getPointAtLength(path.getTotalLength() / 2).y + 4);
      text.setAttribute("class", kind);
      text.textContent = words;
    }

    // A look, dotted, with a dot at what is looked at; of several the strong ones say how strong they
    // are. One that rests on the begin token brings nothing, and is grey.
    function look(from, to, share, lane, strong) {
      const start = top(from), end = top(to);
      const kind = to ? "" : " rests";
      if (!to) start.x += 7; // it is the widest, and so lands outside the others
      drawn(`M${end.x} ${end.y - 5}h0`, `seen${kind}`, 7);
      const path = drawn(way(start, end, 0.125, lane), `looks${kind}`, 1 + 4 * share);
      if (strong) say(path, start, end, `${to ? "look" : "rest"} ${percent(share)}`, kind);
    }

    // What was found moves to where it was looked for, and from there, if it is enough, makes the next
    // token likely.
    function move(found, { at, tells }) {
      const beside = (place, x) => ({ x: top(place).x + x, y: top(place).y });
      const from = beside(found, 9), to = beside(at, -8);
      const here = beside(at, 8), next = top(at + 1), high = here.y - 20;
      const back = drawn(way(from, to, 0.075, 2), "moves", 2.5);
      arcWords.innerHTML += ` Solid: ${bold(word(found))} moves${tells ? `. Short: ${bold(word(at + 1))} comes next` : ", but other tokens stay likelier"}.`;
      say(back, from, to, `move ${word(found)}`);
      head(to);
      if (!tells) return back;
      const hop = `M${here.x} ${here.y - 5}C${here.x} ${high} ${next.x} ${high} ${next.x} ${next.y - 9}`;
      drawn(hop, "moves", 2.5);
      return back;
    }

    function head({ x, y }) {
      drawn(`M${x - 5} ${y - 12}h10l-5 9z`, "head", 1);
    }

    function give(place) {
      head(top(place));
      tokens[place].classList.add("given");
    }

    function clear() {
      arcs.replaceChildren();
      arcWords.textContent = "\u00a0";
      carried.hidden = true;
      tokens.forEach((token) => token.classList.remove("now", "found", "given"));
      bars.forEach((each) => each.setAttribute("aria-pressed", "false"));
    }

    // Whether the bars can be compared with those of the first run of this line.
    const other = () => run() !== whole();

    // The notes at these places, and struck out those that this run has lost; beside a run that is not
    // the first, what the marks at its bars mean, which keeps its room, so that nothing moves.
    function notes(shown) {
      const { struck, unread, reading } = run();
      if (was) was.style.visibility = other() ? "visible" : "hidden";
      tokens.forEach((token, place) => {
        for (const note of token.querySelectorAll(".note")) {
          note.classList.toggle("gone", !shown.includes(place) && !struck.includes(place));
          note.classList.toggle("struck", struck.includes(place) && !note.matches(".further"));
          note.classList.toggle("unread", unread.includes(place) && !note.matches(".further"));
        }
      });
      strip.style.setProperty("--reading", reading && `var(--${reading})`);
      notRead.remove();
      if (!unread.length || !shown.includes(unread.at(-1))) return;
      const first = tokens[unread[0]], last = tokens[unread.at(-1)];
      notRead.textContent = run().notRead;
      notRead.style.width = `${last.offsetLeft + last.offsetWidth - first.offsetLeft}px`;
      first.append(notRead);
    }

    const percent = (p) => (p < 0.005 ? "<\u00a01\u00a0%" : `${Math.round(100 * p)}\u00a0%`);

    const NO_RANK = stage.querySelector(".ranked") ? "\u00a0".repeat(4) : ""; // numbers stay below each other
    const rank = (k) => (run().steps[k].first ? " 1st" : NO_RANK);

    function bar(k, p) {
      const filled = bars[k].querySelector("i").style;
      filled.setProperty("--p", `${100 * (p ?? 0)}%`);
      filled.setProperty("--was", other() ? `${100 * whole().steps[k].p}%` : "-9%");
      bars[k].querySelector("output").textContent = p === null ? "" : percent(p) + rank(k);
    }

    const word = (k) => tokens[k].firstChild.textContent;

    // A place that is looked at from another: which one, if its word has come before or is also the other's.
    function place(k, at) {
      if (k === at) return "itself";
      const before = tokens.filter((_, other) => other < k && word(other) === word(k)).length;
      if (!before && word(k) !== word(at)) return word(k);
      return `the ${["first", "second", "third"][before] ?? `${before + 1}th`} ${word(k)}`;
    }

    const bold = (words) => `<b>${words.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</b>`;

    // What is said of a step that has no words of its own.
    function then(step) {
      if (step.says) return step.says;
      const [[most, share]] = byShare(step);
      const they = `At ${bold(word(step.at))} ${given.who}`;
      const shares = new Map(step.looks), much = (k) => `${bold(place(k, step.at))} (${percent(shares.get(k))})`;
      if (brings(step))
        return step.found === most
          ? `${they} find what stands after it, ${bold(word(most))}.${step.tells ? "" : " Yet other tokens stay likelier."}`
          : `${they} look at ${much(most)} more than at ${much(step.found)}.${step.tells ? "" : " Other tokens stay likelier."}`;
      if (share < 0.5) return `${they} look at no place in particular, most at ${much(most)}.`;
      const others = strong(step).filter(([source]) => source !== most).map(([source]) => much(source));
      const too = others.length ? `, and look at ${others.join(" and ")}, too` : "";
      return `${they} ${most ? "look mostly at" : "rest on"} ${much(most)}${too}.`;
    }

    // Only what comes next here, too, is moved: the begin token brings nothing.
    const brings = (step) => word(step.found) === word(step.at + 1);

    // Whether it is said how strong a look is.
    const isStrong = (step, source, share) =>
      share >= 0.2 || source === step.found || word(source) === word(step.at + 1);

    const strong = (step) => step.looks.filter(([source, share]) => isStrong(step, source, share));
    const byShare = ({ looks }) => [...looks].sort((one, other) => other[1] - one[1]);

    // The looks that are drawn: between the lines of a narrow strip there is room for a few.
    const fitting = (step) => (inFirst(top(step.at)) ? step.looks : byShare(step).slice(0, FEW));

    // What the dotted arcs are of, and what the strong ones show.
    function legend(step) {
      const most = strong(step).length < step.looks.length ? "most " : "";
      const drawn = fitting(step), strongest = byShare(step)[0][0];
      const named = drawn.filter(([source, share]) => isStrong(step, source, share) || [0, step.at, strongest].includes(source));
      const called = (source) => (source === step.at ? "itself" : bold(place(source, step.at)));
      const each = named.map(([source, share]) => [source, `${called(source)} (${percent(share)})`]);
      const looked = each.filter(([source]) => source).map(([, words]) => words).join(" and ");
      const rest = each.filter(([source]) => !source).map(([, words]) => `rest on ${words}, where the line begins`);
      const does = [...(looked ? [`look ${most}at ${looked}`] : []), ...rest].join(" and ");
      const few = drawn.length < step.looks.length ? `${FEW} strongest` : named.length < drawn.length && "strongest";
      const which = few ? ` (The ${few} are drawn.)` : "";
      return `Dotted: from ${bold(word(step.at))} ${given.who} on average ${does}.${which}`;
    }

    // The looks of a step, as wide as they are strong; its bar says that they are its own.
    function looks(step) {
      clear();
      bars.forEach((each, k) => each.setAttribute("aria-pressed", String(run().steps[k] === step)));
      tokens[step.at].classList.add("now");
      arcWords.innerHTML = legend(step);
      let nth = 0; // a rest runs in the lowest lane, below looks and their arrows
      for (const [source, share] of fitting(step))
        look(step.at, source, share, source ? 1 - (nth++ % 2) : 0, !source || isStrong(step, source, share));
      arcs.append(...arcs.querySelectorAll("text")); // over all arcs
    }

    // Keeps as much room as the longest of all sentences needs, so that nothing below moves.
    function reserve() {
      says.style.minHeight = "";
      const heights = runs.flatMap(({ says, steps }) => [...says, ...steps.flatMap((step) => step.says ?? [])]).map((words) => ((says.innerHTML = words), says.offsetHeight));
      says.style.minHeight = `${Math.max(...heights)}px`;
    }

    // How it ends: one look and what it moves, all notes and all bars.
    function end() {
      playing += 1;
      show();
      if (again.textContent !== plays) stage.dataset.played = "";
      again.textContent = plays;
      beat = 0;
    }

    function show() {
      const { steps, says: words } = run(), step = steps[shown];
      upToStep(steps.length);
      looks(step);
      tokens[step.found].classList.toggle("found", step.finds);
      if (brings(step)) move(step.found, step);
      if (step.tells) give(step.at + 1);
      says.innerHTML = step.says ?? words[2];
    }

    // Through all moments of a training, up to its end.
    async function grow() {
      const mine = (playing += 1);
      again.textContent = "To the end";
      for (const choice of choices) {
        choice.checked = true;
        show();
        await wait(2500);
        if (mine !== playing) return;
      }
      end();
    }

    function toTheEnd() {
      if (inTime) choices.at(-1).checked = true;
      end();
    }

    // Has the arcs draw themselves: a mask of dashes would hide their own dots, so they are uncovered
    // from the side on which they begin.
    async function uncover(ms) {
      if (STILL.matches) return;
      const right = "inset(-200px 0 -200px 100%)", whole = "inset(-200px -200px -200px -200px)";
      await arcs.animate([{ clipPath: right }, { clipPath: whole }], { duration: ms, easing: "ease-in-out" }).finished;
    }

    // Moves the token that was found along its arc, and from there to where it is written.
    async function carry(from, step, k, still) {
      carried.textContent = word(from);
      carried.hidden = false;
      const path = move(from, step), to = step.at + 1;
      const length = path.getTotalLength(), begin = performance.now(), ms = STILL.matches ? 0 : k ? 250 : 700;
      for (let t = 0; t < 1; ) {
        const now = await new Promise(requestAnimationFrame);
        if (!still()) return;
        t = ms ? Math.min(1, Math.max(0, (now - begin) / ms)) : 1;
        const eased = t * t * (3 - 2 * t), on = path.getPointAtLength(length * eased), goal = top(to);
        const x = on.x + (goal.x - on.x) * eased, y = on.y - 16 + (goal.y - on.y + 16) * eased;
        carried.style.transform = `translate(${x - carried.offsetWidth / 2}px, ${y}px)`;
      }
      carried.hidden = true;
      if (step.tells) give(to);
    }

    // What has come before a step is there: notes, bars, and the pieces that they tell.
    function upToStep(k) {
      const { steps, notes: noted } = run();
      notes(noted);
      steps.forEach((step, each) => {
        bar(each, each < k ? step.p : null);
        tokens[step.at + 1].classList.toggle("to-come", each >= k);
      });
    }

    // `read`: how long there is time to read what is said, before it happens. [ms]
    async function one(k, still, read = k ? 1200 : 3500) {
      const { steps } = run(), step = steps[k], { found } = step;
      beat = k + 2;
      looks(step);
      says.innerHTML = k || step.says ? then(step) : run().says[1];
      await wait(100);
      if (!still()) return;
      await uncover(k ? 200 : 500);
      if (!still()) return;
      tokens[found].classList.toggle("found", step.finds);
      await wait(read);
      if (still() && brings(step)) await carry(found, step, k, still);
      if (!still()) return;
      tokens[step.at + 1].classList.remove("to-come");
      bar(k, step.p);
      await wait(k ? 300 : 1000);
    }

    // `known`: the bars have their ends at once, as after a switch, whose effect is to be seen.
    async function writeNotes(still, known) {
      const { steps, notes: noted, says: words } = run();
      [beat, told] = [1, known];
      clear();
      upToStep(known ? steps.length : 0);
      notes([]);
      says.innerHTML = words[0];
      for (let k = 1; k <= noted.length && still(); k++) {
        notes(noted.slice(0, k));
        await wait(known ? 110 : 400);
      }
    }

    async function play(known = false) {
      const mine = (playing += 1), still = () => mine === playing;
      again.textContent = "To the end";
      plays = "Play again";
      await writeNotes(still, known);
      await wait(known ? 1500 : 3000);
      for (let k = 0; k < run().steps.length && still(); k++) await one(k, still);
      if (still()) end();
    }

    // As fast as the reader asks for it.
    async function playNext() {
      const mine = (playing += 1), still = () => mine === playing, k = beat - 1;
      again.textContent = plays;
      if (k < 0) return writeNotes(still, false);
      if (k >= run().steps.length) return end();
      upToStep(told ? run().steps.length : k);
      await one(k, still, 600);
    }

    async function again_one(k) {
      shown = k; // also at other moments, and after a switch
      if (inTime) return end();
      const mine = (playing += 1), still = () => mine === playing;
      upToStep(run().steps.length);
      await one(k, still, 600);
      if (still()) again.textContent = plays;
    }

    // Another run may have a line of its own, and so other words at its bars.
    function begin() {
      clear();
      ({ strip, tokens, arcs, carried, notRead } = lines[run().line]);
      lines.forEach((line) => (line.strip.hidden = line.strip !== strip));
      run().steps.forEach((step, k) => (bars[k].querySelector("b").textContent = word(step.at + 1)));
      if (STILL.matches || inTime) end();
      else play(true);
    }
    const playAll = inTime ? grow : () => play();
    knob?.addEventListener("click", () => {
      knob.setAttribute("aria-checked", String(isOff()));
      begin();
    });
    choices.forEach((one) => one.addEventListener("change", begin));
    again.addEventListener("click", () => (again.textContent === plays ? playAll() : toTheEnd()));
    next?.addEventListener("click", playNext);
    bars.forEach((each, k) => each.addEventListener("click", () => again_one(k)));
    // Also when it becomes visible: on a slide that is not shown, nothing has a place.
    let wide = -1;
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width !== wide) {
        reserve();
        end();
      }
      wide = contentRect.width;
    }).observe(stage);
    end();
    if (!byItself) return;
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      playAll();
    }, { threshold: 0.5 });
    seen.observe(stage.querySelector(".bars")); // what it comes to, which stands last
  }

  document.querySelectorAll(".circuit-stage").forEach(start);
})();
