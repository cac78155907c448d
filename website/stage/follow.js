// Scrolling sets the state: the step that has come up to the stage is the one that is read.
const READ = 0.3; // how far down the room below the stage a step counts as read, as a share of it

// Calls `reach(step)` whenever another step is read; gives a function that asks again.
export function follow(steps, bottom, reach) {
  let current = null;
  let asked = 0;
  const look = () => {
    asked = 0;
    const line = bottom() + READ * (innerHeight - bottom());
    const reached = (step) => scrollY > 0 && step.getBoundingClientRect().top < line;
    const read = steps.findLast(reached) ?? steps[0];
    if (read === current) return;
    current?.classList.remove("on");
    current = read;
    read.classList.add("on");
    reach(read);
  };
  const ask = () => (asked ||= requestAnimationFrame(look));
  addEventListener("scroll", ask, { passive: true });
  addEventListener("resize", ask);
  look();
  return () => current;
}
