// The worker in which a model of the page learns, so that the page stays quick.
(function (root) {
  "use strict";
  const train = root.Circuits.train;

  train.sources.push(function (T) {
    "use strict";
    // Messages: {run, begin: what Training takes} or {run, steps}. Each is answered by a look at
    // the model, with the number of the run it belongs to.
    T.serve = function (scope) {
      let training = null;
      scope.onmessage = function ({ data }) {
        if (data.begin) training = new T.Training(data.begin);
        else training.run(data.steps);
        scope.postMessage({ run: data.run, ...training.look() });
      };
    };
  });

  // What the sources define, for the page itself and for tests.
  train.load = function () {
    const T = {};
    for (const add of train.sources) add(T);
    return T;
  };

  // A worker made of the sources' text: pages opened from a file may not name a file of their own.
  let address = null;
  train.worker = function () {
    const text = `const T = {};\nfor (const add of [\n${train.sources.join(",\n")}\n]) add(T);\nT.serve(self);`;
    address ??= URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    return new Worker(address);
  };
})(globalThis);
