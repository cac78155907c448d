from transformer_circuits.text import tokenizer,corpus
import re,collections
tk=tokenizer.load()
V=tk.get_vocab_size(); print(V)
# the paper's list (paper.md): single tokens?
words=" keep| mind| bay| in|else|elif|except|lambda|open|rb|wb|r|w| perfect| looks| super| great|\\left|\\right|left|right| back| forth| for| range| self|def|class| Ralph| R|al|ph| Lloyd|L|indy|loyd| Pix|P|ixmap|Canvas| Can|as|nbsp|tbody|td|</|&|;| torch|ensor| heaven| earth| men| women| night| day| bottom| top| Israel| David| wait| buchadnezzar| nothing| something| because| government|import| import| return| None| True| False|numpy|np| the| people|http|://|://|.org|.com| two| three| year| every| country"
for w in words.split('|'):
    e=tk.encode(w); 
    print(repr(w),len(e.ids),[tokenizer.label(tk,i) for i in e.ids] if len(e.ids)>1 else '',end='; ')
print()
# common words: share of 1000 most common alphabetic words that are single tokens
c=collections.Counter()
for d in corpus.read("small","validation"):
    c.update(re.findall(r" [A-Za-z]+",d.text))
top=[w for w,_ in c.most_common(1000)]
print('of 1000 commonest words single:',sum(len(tk.encode(w).ids)==1 for w in top))
tot=sum(c.values()); print('share of word occurrences single:',sum(n for w,n in c.items() if len(tk.encode(w).ids)==1)/tot)
