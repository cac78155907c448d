const dir="src/transformer_circuits/website/train/";
for (const f of ["products","model","training"]) require(dir+f+".js");
const T={}; Circuits.train.sources.forEach(s=>s(T));
const o=JSON.parse(process.argv[2]);
const shape={...T.SHAPE,...o.shape}, plan={...T.PLAN,...o.plan};
const t=new T.Training({seed:o.seed??0,n_layers:o.n_layers??2,seen:o.seen,shifted:o.shifted,plan,shape});
const f=a=>a.map(l=>l.map(x=>x.toFixed(2)).join(" ")).join(" | ");
const s=Date.now();
for(let k=0;k<=(o.steps??600);k+=o.every??50){ const r=t.look(); console.log((o.name??"")+" "+r.step, r.rest.toFixed(2), r.known.toFixed(2),"prev",f(r.previous),"match",f(r.matching), ((Date.now()-s)/1000).toFixed(1)); t.run(o.every??50);}
