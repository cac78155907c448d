"""usage: search.py NAME key=value..."""
import sys,json,math,time
from pathlib import Path
import torch, torch.nn.functional as F
from transformer_circuits.text import corpus,windows
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training.config import TrainConfig
from transformer_circuits.training.trainer import Trainer
from transformer_circuits.training import cross_entropy
from transformer_circuits.analysis import induction,patterns
torch.set_num_threads(2)
name=sys.argv[1]; o=dict(H=8,D=64,M=320,V=4096,C=512,B=16,L=2,wd=0.4,late=610,million=8.192,seed=0,dfrom=0.6,lre=.005,lra=.02,every=100,mlp=0,stop=0,base=1000.,wda=0.,wu=-1.,norm=0.,zl=0.,begin=0,wdvo=0.,roll=0.,lru=1.)
for a in sys.argv[2:]:
    k,v=a.split('='); o[k]=type(o[k])(float(v)) if not isinstance(o[k],str) else v
S=ModelConfig(n_layers=o['L'],n_heads=o['H'],d_model=o['M'],d_head=o['D'],n_vocab=o['V'],n_ctx=o['C'],position_base=o['base'],begin=bool(o['begin']),d_mlp=o['mlp'])
P=TrainConfig(seed=o['seed'],steps=int(o['million']*1e6/o['C']/o['B']),batch=o['B'],lr_embed=o['lre'],lr_attention=o['lra'],warmup_steps=100,decay_from=o['dfrom'],corpus="full",blind_steps=o['late'])
train,held=corpus.tokens("full","train"),corpus.tokens("full","validation")
counts=torch.bincount(train.long(),minlength=o['V']).float(); counts[0]=0
@torch.no_grad()
def two(model,p):
    t=torch.cat([torch.zeros(len(p),1,dtype=torch.long),p,p],1); n=p.shape[1]
    z=torch.cat([model(c) for c in t.split(8)]); l=F.cross_entropy(z[:,:-1].mT,t[:,1:],reduction='none').view(len(p),2,n)[:,:,1:]
    r=(z[:,:-1].argmax(-1)==t[:,1:]).float().view(len(p),2,n)[:,:,1:]
    return t,[round(float(l[:,0].mean()),2),round(float(l[:,1].mean()),2),round(100*float(r[:,0].mean()),1),round(100*float(r[:,1].mean()),1)]
@torch.no_grad()
def probe(model):
    g=torch.Generator().manual_seed(5)
    t,u=two(model,torch.randint(1,o['V'],(16,60),generator=g))
    _,f=two(model,torch.multinomial(counts,16*60,True,generator=g).view(16,60))
    st=torch.linspace(0,len(held)-100,24).long(); _,pa=two(model,held[st[:,None]+torch.arange(60)].long())
    text=held[torch.linspace(0,len(held)-600,8).long()[:,None]+torch.arange(512)].long()
    A=model.trace(text).patterns; R=model.trace(t).patterns
    d=dict(held=round(float(cross_entropy.evaluate(model,held,32).mean()),3),uni=u,freq=f,passage=pa,prev=[round(float(a.diagonal(-1,-2,-1).mean((0,-1)).max()),2) for a in A])
    d['match']=[[round(x,2) for x in sorted(induction.prefix_matching_score(a,t).tolist())[::-1][:3]] for a in R[-1:]][0]
    d['mtext']=[round(x,2) for x in sorted(induction.prefix_matching_score(A[-1],text).tolist())[::-1][:3]]
    d['rms']=[round(float(w.pow(2).mean().sqrt()),3) for w in (model.W_E,model.W_U)]
    return d
net=Transformer(S,generator=torch.Generator().manual_seed(o['seed']))
if o['roll']:
    with torch.no_grad(): net.W_U.copy_(net.W_E.T.roll(o['M']//2,1)); net.W_U.mul_(o['roll']/net.W_U.pow(2).mean().sqrt())
out=Path('data/cache/search'); out.mkdir(exist_ok=True)
tr=Trainer(net,P,train,out/name,every=int(o['every']),probe=probe)
print(name,o,flush=True)
if o['wdvo']:
    qk=[w for l in net.layers for w in (l.W_Q_concat,l.W_K_concat)]; vo=[w for l in net.layers for w in (l.W_V_concat,l.W_O_concat)]
    tr.optimizers[1]=torch.optim.Muon([dict(params=qk,weight_decay=o['wda']),dict(params=vo,weight_decay=o['wdvo'])],lr=o['lra'],momentum=.95)
elif o['wda']:
    tr.optimizers[1].param_groups[0]['weight_decay']=o['wda']
if o['wu']>=0:
    g=tr.optimizers[0].param_groups[0]; E_,U_=net.W_E,net.W_U
    tr.optimizers[0]=torch.optim.AdamW([dict(params=[E_],weight_decay=o['wd']),dict(params=[U_],weight_decay=o['wu'])],lr=o['lre'],betas=(.9,.98),fused=True)
    import transformer_circuits.training.trainer as TT
    def one():
        f=TT.schedule(tr.step,P)
        for gr in tr.optimizers[0].param_groups: gr['lr']=o['lre']*f
        v=old()
        if o['norm']:
            with torch.no_grad():
                n=net.W_E.norm(dim=0,keepdim=True)/o['M']**.5
                if o['norm']<0: n=n.clamp(min=-o['norm'])/-o['norm']
                else: n=n/o['norm']
                net.W_E.div_(n)
        return v
    old=tr._one_step; tr._one_step=one
for rec in tr.run():
    print(json.dumps(rec),flush=True)
    if o['stop'] and rec['step']>=o['stop']: break
torch.save(net.state_dict(),out/f'{name}.pt')
