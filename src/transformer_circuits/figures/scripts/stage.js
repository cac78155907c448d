// The stage (figures/stage.py): plays a line of text, step by step, in the strip that the page has
// already. A classic script without dependencies; a page may hold it more than once.
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");

  function start(stage) {
    if (stage.dataset.started) return;
    stage.dataset.started = "yes";
    const { runs } = JSON.parse(stage.querySelector("script[type='application/json']").textContent);
    const strip = stage.querySelector(".strip");
    const tokens = [...strip.querySelectorAll(".token")];
    const says = stage.querySelector(".says");
    const bars = [...stage.querySelectorAll(".bars button")];
    const was = stage.querySelector(".was"); // what the marks at the bars mean
    const knob = stage.querySelector("[role=switch]"); // between two runs; else there are choices
    const choices = [...stage.querySelectorAll(".choice input")];
    const again = stage.querySelector(".play");
    const plays = again.textContent, inTime = "inTime" in stage.dataset; // the runs are moments of a training
    const arcs = strip.appendChild(document.createElementNS(SVG, "svg"));
    arcs.setAttribute("class", "arcs");
    arcs.setAttribute("aria-hidden", "true");
    const carried = strip.appendChild(document.createElement("span"));
    carried.className = "carried";
    carried.setAttribute("aria-hidden", "true");
    carried.hidden = true;
    // What is under way has this number; whatever finds another number stops.
    let playing = 0;

    const run = () => runs[knob ? Number(knob.getAttribute("aria-checked") !== "true") : choices.find((one) => one.checked).value];
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

    // Within the first line an arc bends over it. Elsewhere it runs between the lines, and from one to
    // another along the margin, for it must not lie on words; the k-th of several a little higher.
    function arc(from, to, className, width, k) {
      const a = top(from), b = top(to), first = top(0).y + 4, lane = 8 + 7 * (k % 3);
      const high = Math.min(130, 18 + 0.125 * Math.abs(a.x - b.x));
      const edge = 2 + 5 * (k % 3), over = a.y - lane, above = b.y - lane;
      const margin = Math.abs(a.y - b.y) < 4 ? [] : [{ x: edge, y: over }, { x: edge, y: above }];
      const path = arcs.appendChild(document.createElementNS(SVG, "path"));
      path.setAttribute("d", Math.max(a.y, b.y) < first
        ? `M${a.x} ${a.y - 2}C${a.x} ${a.y - high} ${b.x} ${b.y - high} ${b.x} ${b.y - 4}`
        : through([{ x: a.x, y: a.y - 2 }, { x: a.x, y: over }, ...margin, { x: b.x, y: above }, { x: b.x, y: b.y - 4 }]));
      path.setAttribute("class", className);
      path.setAttribute("stroke-width", width);
      return path;
    }

    function clear() {
      arcs.replaceChildren();
      carried.hidden = true;
      tokens.forEach((token) => token.classList.remove("now", "found"));
    }

    // The notes at these places, and struck out those that this run has lost; beside a run that is not
    // the first, what the marks at its bars mean, which keeps its room, so that nothing moves.
    function notes(shown) {
      const { struck } = run();
      was.style.visibility = run() === runs[0] ? "hidden" : "visible";
      tokens.forEach((token, place) => {
        const note = token.querySelector(".note");
        note?.classList.toggle("gone", !shown.includes(place) && !struck.includes(place));
        note?.classList.toggle("struck", struck.includes(place));
      });
    }

    function bar(k, p) {
      const share = p === null ? "" : p < 0.005 ? "< 1 %" : `${Math.round(100 * p)} %`;
      const filled = bars[k].querySelector("i").style, other = run() !== runs[0];
      filled.setProperty("--p", `${100 * (p ?? 0)}%`);
      filled.setProperty("--was", other ? `${100 * runs[0].steps[k].p}%` : "-9%");
      bars[k].querySelector("output").textContent = share;
    }

    const word = (k) => tokens[k].firstChild.textContent;

    // What is said of a step after the first, which has words of its own.
    function then(step) {
      const found = most(step);
      const bold = (k) => `<b>${word(k).replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</b>`;
      return word(found) === word(step.at + 1)
        ? `The same at ${bold(step.at)}: they find what stands after it, ${bold(found)}.`
        : `At ${bold(step.at)} they look mostly at ${bold(found)}.`;
    }

    const most = (step) => step.looks.reduce((best, look) => (look[1] > best[1] ? look : best))[0];

    // The looks of a step as dotted arcs, as wide as they are strong; what is looked at most, found.
    function look(step) {
      clear();
      tokens[step.at].classList.add("now");
      const drawn = step.looks.map(([source, share], k) => arc(step.at, source, "looks", 1 + 4 * share, k));
      return { drawn, found: most(step) };
    }

    // How it ends: the first look, all notes and all bars.
    function end() {
      playing += 1;
      show();
      again.textContent = plays;
    }

    function show() {
      const { steps, notes: noted, says: words } = run();
      notes(noted);
      tokens[look(steps[0]).found].classList.add("found");
      steps.forEach((step, k) => bar(k, step.p));
      tokens.forEach((token) => token.classList.remove("to-come"));
      says.innerHTML = words[2];
    }

    // Through all moments of a training, up to its end.
    async function grow() {
      const mine = (playing += 1);
      again.textContent = "Show the end";
      for (const choice of choices) {
        choice.checked = true;
        show();
        await wait(1600);
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
      const right = "inset(-200px 0 -200px 100%)", whole = "inset(-200px -200px -200px -200px)";
      await arcs.animate([{ clipPath: right }, { clipPath: whole }], { duration: ms, easing: "ease-in-out" }).finished;
    }

    // Moves the token that was found along the arc to where it is written.
    async function carry(path, from, to, k, still) {
      carried.textContent = word(from);
      carried.hidden = false;
      const length = path.getTotalLength(), begin = performance.now(), ms = k ? 250 : 600;
      for (let t = 0; t < 1 && still(); ) {
        const now = await new Promise(requestAnimationFrame);
        t = Math.min(1, Math.max(0, (now - begin) / ms));
        const eased = t * t * (3 - 2 * t), on = path.getPointAtLength(length * (1 - eased)), goal = top(to);
        const x = on.x + (goal.x - on.x) * eased, y = on.y - 16 + (goal.y - on.y + 16) * eased;
        carried.style.transform = `translate(${x - carried.offsetWidth / 2}px, ${y}px)`;
      }
      carried.hidden = true;
    }

    async function one(k, still) {
      const { steps } = run(), step = steps[k];
      const { drawn: paths, found } = look(step);
      await wait(100);
      if (!still()) return;
      await uncover(k ? 200 : 500);
      if (!still()) return;
      tokens[found].classList.add("found");
      says.innerHTML = k ? then(step) : run().says[1];
      await wait(k ? 50 : 900);
      // Only what comes next here, too, is carried: the begin token brings nothing.
      if (still() && word(found) === word(step.at + 1)) await carry(paths[step.looks.findIndex(([source]) => source === found)], found, step.at + 1, k, still);
      if (!still()) return;
      tokens[step.at + 1].classList.remove("to-come");
      bar(k, step.p);
      await wait(k ? 100 : 400);
    }

    async function play() {
      const mine = (playing += 1), still = () => mine === playing;
      const { steps, notes: noted, says: words } = run();
      again.textContent = "Show the end";
      clear();
      notes([]);
      steps.forEach((step, k) => {
        bar(k, null);
        tokens[step.at + 1].classList.add("to-come");
      });
      says.innerHTML = words[0];
      for (let k = 1; k <= noted.length && still(); k++) {
        notes(noted.slice(0, k));
        await wait(110);
      }
      await wait(900);
      for (let k = 0; k < steps.length && still(); k++) await one(k, still);
      if (still()) end();
    }

    async function again_one(k) {
      const mine = (playing += 1), still = () => mine === playing;
      const { notes: noted } = run();
      notes(noted);
      run().steps.forEach((step, each) => bar(each, step.p));
      tokens.forEach((token) => token.classList.remove("to-come"));
      await one(k, still);
      if (still()) again.textContent = plays;
    }

    const begin = () => (STILL.matches || inTime ? end() : play());
    const playAll = inTime ? grow : play;
    knob?.addEventListener("click", () => {
      knob.setAttribute("aria-checked", String(knob.getAttribute("aria-checked") !== "true"));
      begin();
    });
    choices.forEach((one) => one.addEventListener("change", begin));
    again.addEventListener("click", () => (again.textContent === plays ? playAll() : toTheEnd()));
    bars.forEach((each, k) => each.addEventListener("click", () => again_one(k)));
    // Also when it becomes visible: on a slide that is not shown, nothing has a place.
    new ResizeObserver(end).observe(stage);
    end();
    if (STILL.matches) return;
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      playAll();
    }, { threshold: 0.5 });
    seen.observe(stage.querySelector(".bars")); // what it comes to, which a phone shows last
  }

  document.querySelectorAll(".circuit-stage").forEach(start);
})();
