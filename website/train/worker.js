// The worker in which a model of the page learns, so that the page stays quick. Messages: {run, begin:
// what Training takes} or {run, steps}. Each is answered by a look at the model, with the number of the
// run it belongs to.
import { Training } from "./training.js";

let training = null;

self.onmessage = ({ data: { run, begin, steps } }) => {
  if (begin) training = new Training(begin);
  else training.run(steps);
  self.postMessage({ run, ...training.look() });
};
