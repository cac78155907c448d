import sys,json
for f in sys.argv[1:]:
    print(f)
    for l in open(f):
        try: r=json.loads(l)
        except Exception: continue
        print(r['step'],r['seconds'],r['held'],r['uni'],r['freq'],r['passage'],r['prev'],r['match'],r['mtext'],r['rms'])
