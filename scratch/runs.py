import json,sys
desc={'a':'W_E and W_U decay by 0.4','b':'decay by 1.2: stopped, embeddings of rare tokens wear away','c':'embeddings kept at RMS 1, W_U decays by 0.4: stopped, slow','d':'embeddings kept at RMS 0.3, W_U decays by 0.4','e':'as d, the rate falls from the start','f':'as d, W_U decays by 1.2, blind for 300 steps','g':'as d, contexts open with BEGIN, blind for 300 steps','i':'as g, the rate of Muon 0.007 instead of 0.02','j':'as g, W_Q, W_K, W_V, W_O decay by 0.2 (stopped shortly before its end)','h':'as d, d_model 256, blind for 300 steps'}
out=[]
for k in sys.argv[1:]:
    L=[l for l in open(f'data/cache/search/{k}.log')]
    name,o=L[0].split(' ',1); o=eval(o)
    R=[json.loads(l) for l in L if l.startswith('{')]
    r=R[-1]
    out.append(dict(run=desc[k],seed=o['seed'],d_model=o['M'],begin=bool(o.get('begin',0)),weight_decay_W_E=o['wd'],weight_decay_W_U=o.get('wu',-1) if o.get('wu',-1)>=0 else o['wd'],decay_attention=o.get('wda',0),lr_attention=o['lra'],rms_embed=o.get('norm',0),blind_steps=o['late'],decay_from=o['dfrom'],million_tokens=round(r['tokens']/1e6,2),minutes=round(r['seconds']/60,1),held_out_nats=r['held'],uniform_loss=r['uni'][:2],uniform_right_first=round(r['uni'][3]/100,3),by_frequency_right_first=round(r['freq'][3]/100,3),passage_right_first=round(r['passage'][3]/100,3),matching=r['match'][0],previous_token=r['prev'][0],million_tokens_to_matching_02=next((round(x['tokens']/1e6,1) for x in R if x['match'][0]>=.2),None)))
open('data/models/two-layer/runs.jsonl','w').write(''.join(json.dumps(r)+'\n' for r in out))
for r in out: print(r)
