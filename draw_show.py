import sys, math, numpy as np
from pathlib import Path
from transformer_circuits.figures.drawings import stream, heads, paths, composition, induction, trigrams, superposition
ring=lambda n:[[math.cos(math.tau*i/n+.3),math.sin(math.tau*i/n+.3)] for i in range(n)]
line="Then Mor de cai spoke , and the king heard Mor".split()
D={
"stream":stream.residual_stream(" queen",[3.2,5.13,7.4]),
"head":heads.two_circuits([" Then"," the"," old"," man"," went"," down"," to"," the"],[.02,.03,.11,.52,.02,.2,.05,.05],[" that"," same"," man"," who"," forth"," from"," be"," sea"],head="0.10"),
"circuits":heads.circuit_paths(4096,256,32),
"onelayer":paths.path_sum({():-.84,("0.3",):1.9,("0.7",):-.3,("0.1",):.45,("0.2",):.02},what='logit of " queen" above the mean',unit="logits"),
"twolayer":paths.path_sum({():-.84,("0.3",):1.9,("0.7",):-.3,("1.5",):3.4,("1.1",):-.6,("0.3","1.5"):.45,("0.2","1.10"):.2,("0.1","1.1"):-.15,("0.4","1.1"):.05,("0.5","1.1"):.05},what='logit of " queen" above the mean',unit="logits"),
"kinds":composition.three_kinds("0.3","1.10",{"Q":.081,"K":.173,"V":.062}),
"virtual":composition.virtual_head([" Mor","de","cai"],["0.3","1.10"],[.81,.64]),
"induction":induction.induction_steps(line,10,2,heads=["0.3","1.10"],weights=[.93,.71],predicted="de"),
"bug":trigrams.skip_trigram_bug("keep",[" in"," at"],[" mind"," bay"],[.62,.48],[2.4,1.9]),
"norm":stream.layer_norm(),
"super":superposition.superposition({"2 features":ring(4)[:2],"3 features":ring(3),"5 features":ring(5)}),
}
def hits(c):
    out=[]
    w=c.words
    for i,a in enumerate(w):
        if a.left<-.5 or a.right>c.width+.5: out.append(("outside",a.text,round(a.left),round(a.right)))
        for b in w[i+1:]:
            if a.left<b.right and b.left<a.right and a.top<b.bottom and b.top<a.bottom: out.append(("words",a.text,b.text))
        for s in c.strokes:
            for (x0,y0),(x1,y1) in zip(s,s[1:]):
                n=40
                if any(a.left<x0+(x1-x0)*k/n<a.right and a.top+1<y0+(y1-y0)*k/n<a.bottom-1 for k in range(n+1)): out.append(("line",a.text)); break
    return out
if __name__=="__main__":
    for k,d in D.items():
        for n,c in (("wide",d.wide),("tall",d.tall)):
            for h in hits(c): print(k,n,h)
    css=Path("_static/book.css").read_text()
    for theme,bg,fg in (("light","#fff","#222"),("dark","#121212","#ddd")):
        for size,names in ((1440,D),(390,D)):
            for name in names:
                body=D[name]._repr_mimebundle_()["text/html"]
            half=list(D); 
            for part,ks in enumerate((half[:4],half[4:8],half[8:])):
                body="".join(f'<div style="margin:0 0 26px">{D[k]._repr_mimebundle_()["text/html"]}</div>' for k in ks)
                pad="max-width:760px;margin:0 auto;padding:16px"
                Path(f"draw/{theme}-{size}-{part}.html").write_text(f'<!doctype html><html data-theme="{theme}"><meta charset=utf-8><body style="background:{bg};color:{fg};font-family:system-ui;margin:0"><div style="{pad}">{body}</div></body></html>')
    for theme,bg,fg in (("light","#fff","#222"),("dark","#121212","#ddd")):
        for kind,w,cols in (("wide",740,2),("tall",358,5)):
            cells=[f'<div style="width:{w}px;margin:0 0 22px">{D[k]._repr_mimebundle_()["text/html"]}</div>' for k in D]
            c=[[] for _ in range(cols)]; hs=[0]*cols
            for k,x in zip(D,cells):
                cv=D[k].wide if kind=="wide" else D[k].tall
                j=hs.index(min(hs)); c[j].append(x); hs[j]+=cv.height+70
            body="".join(f'<div style="width:{w}px">{"".join(x)}</div>' for x in c)
            Path(f"draw/all-{theme}-{kind}.html").write_text(f'<!doctype html><html data-theme="{theme}"><meta charset=utf-8><body style="background:{bg};color:{fg};font-family:system-ui;margin:0"><div style="display:flex;gap:24px;padding:12px">{body}</div></body></html>')
            print(theme,kind,(w+24)*cols+12,round(max(hs)*1.06))
