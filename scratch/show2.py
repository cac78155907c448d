import json,sys
for l in open(sys.argv[1]):
    try: r=json.loads(l)
    except Exception: continue
    t=r['twice_loss'];f=r['twice_right_first']
    print(r['step'],round(r['tokens']/1e6,1),round(r['seconds']/60,1),'held',r['held_out'],'uni',[round(x,2) for x in t['uniform']],round(100*f['uniform'][1],1),'freq',round(t['by_frequency'][1],2),round(100*f['by_frequency'][1],1),'text',round(t['text'][1],2),[round(100*x,1) for x in f['text']],'match',[round(x,2) for x in sorted(r['matching_random'][-1])[::-1][:4]],'text',[round(x,2) for x in sorted(r['matching_text'][-1])[::-1][:4]],'prev',[round(max(x),2) for x in r['previous_token']],'icl',r['in_context_learning_score'])
