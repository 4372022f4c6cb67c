"""Coverage of 95% intervals over cross-validated predictions, with plain intervals (IN_FOLDS = 1).

    python -m runs.simulate_folds sts 600 300 out.json 150 5000 30 DATA/cs224n

task, pairs of a table, draws, result, seconds at most, other pairs, ridge penalty, CS224N's folder.
"""
import sys, time, json, random
import numpy as np, torch
from pathlib import Path
from dataclasses import replace
torch.set_num_threads(1)
from data.tasks import TASKS, Splits, read_quora, read_sts
from data.pairs import folds_by_texts
from data.selection import parts_of
from evaluation.clusters import clusters_of
from evaluation.intervals import intervals
from evaluation.significance import compare
from evaluation.metrics import labels_of, score_on, task_metrics
from heads.config import head_config
from heads.features import FEATURES
from heads.inputs import inputs_of, FrozenInputs
from heads.train import HeadTask, HeadTrainer, predicted
from minbert.encoder import SentenceEncoder
name, n, draws = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]); out=sys.argv[4]; limit=float(sys.argv[5])
D=sys.argv[8]+'/'
rows = read_quora(D+'quora-train.csv')+read_quora(D+'quora-dev.csv') if name=='para' else read_sts(D+'sts-train.csv')+read_sts(D+'sts-dev.csv')
rows=[replace(r,id=str(i)) for i,r in enumerate(rows)]
task=TASKS[name]; metrics=task.metrics[:1]
# systems: encoder x features
ins={}
for enc in ('mini-sts','mini'):
    e=SentenceEncoder.from_pretrained(enc,device='cpu',precision='float32').freeze()
    for f in ('interaction','concat'):
        if f=='concat': continue
        ins[enc,f]=(e,inputs_of(e,{"":rows},FEATURES['bi'](f),'frozen',Path('runs/cache'))[""])
labels=labels_of(rows)
from data.overlap import groups_by_text
G=groups_by_text(rows)
from sklearn.linear_model import LogisticRegression, Ridge
X={}
for k,(e,full) in ins.items():
    X[k]=np.concatenate([full.batch(r).numpy() for r in full.batches()])
def fit(s,train,seed):
    x=X[s][train].astype(np.float64); m=x.mean(0); y=labels[train]; x=x-m
    K=x@x.T; K[np.diag_indices(len(K))]+=LAM
    w=x.T@np.linalg.solve(K,y-y.mean())
    return s,w.astype(np.float32),float(y.mean()-m@w)
LAM=float(sys.argv[7])
def pred(sm,idx):
    p=X[sm[0]][idx]@sm[1]+sm[2]
    return (p>0.5).astype(float) if name=='para' else p.astype(float)
done=[]; t0=time.time()
for d in range(draws):
    if time.time()-t0>limit: break
    rng=np.random.default_rng([7,n,d]); idx=np.sort(rng.permutation(len(rows))[:n])
    mask=np.ones(len(rows),bool); mask[idx]=False; rest=rng.permutation(np.flatnonzero(mask))[:int(sys.argv[6])]
    ex=[rows[i] for i in idx]
    fold=folds_by_texts(ex,task,42,5)
    cv={}; truth={}; full={}
    for s in ins:
        p=np.zeros(n); acc=[]
        for k in range(5):
            h=fit(s, idx[fold!=k], 42)
            p[fold==k]=pred(h, idx[fold==k])
            acc.append(task_metrics(name,pred(h,rest),labels[rest]))
        cv[s]=p
        truth[s]={m:float(np.mean([a[m] for a in acc])) for m in metrics}
        full[s]=task_metrics(name,pred(fit(s,idx,42),rest),labels[rest])
    fresh=rest[:n]; other=rest[n:]
    fp={}; ft={}
    for s in ins:
        h=fit(s,idx,42); fp[s]=pred(h,fresh); ft[s]=task_metrics(name,pred(h,other),labels[other])
    rec={}
    for s in ins:
        iv=intervals(name,fp[s],labels[fresh])
        for m in metrics: rec['CONTROL '+'/'.join(s)+' '+m]=(task_metrics(name,fp[s],labels[fresh])[m],iv[m].low,iv[m].high,ft[s][m],ft[s][m])
    _,vs=compare(name,metrics[0],{'/'.join(s):{0:fp[s]} for s in ins},labels[fresh],None)
    for v in vs:
        a,b=tuple(v.a.split('/')),tuple(v.b.split('/'))
        rec['CONTROL difference']=(v.difference,v.interval.low,v.interval.high,ft[a][metrics[0]]-ft[b][metrics[0]],0.)
    y=labels[idx]; cl=clusters_of(ex)
    for s in ins:
        iv=intervals(name,cv[s],y,cl)
        for m in metrics:
            if iv[m] is not None: rec['/'.join(s)+' '+m]=(task_metrics(name,cv[s],y)[m],iv[m].low,iv[m].high,truth[s][m],full[s][m])
    nm={'/'.join(s):{0:cv[s]} for s in ins}
    for m in metrics:
        _,vs=compare(name,m,nm,y,None,clusters=cl)
        for v in vs:
            if v.interval is None: continue
            a,b=tuple(v.a.split('/')),tuple(v.b.split('/'))
            rec[f'{v.a} - {v.b} {m}']=(v.difference,v.interval.low,v.interval.high,truth[a][m]-truth[b][m],full[a][m]-full[b][m])
    done.append(rec)
    if d%20==19: json.dump(done,open(out,'w')); print(d+1,time.time()-t0,flush=True)
json.dump(done,open(out,'w'))
print('draws',len(done),time.time()-t0)
for k in max(done,key=len):
    a=np.array([r[k] for r in done if k in r]); w=a[:,2]-a[:,1]; print(len(a),f'ratio {(a[:,0]-a[:,3]).std()/(w.mean()/3.92):.2f}',end=' '); 
    print(f"{k:55s} cover(folds) {np.mean((a[:,1]<=a[:,3])&(a[:,3]<=a[:,2])):.3f} cover(saved) {np.mean((a[:,1]<=a[:,4])&(a[:,4]<=a[:,2])):.3f} width {np.mean(a[:,2]-a[:,1]):.4f} bias {np.mean(a[:,0]-a[:,3]):+.4f} sd(est) {a[:,0].std():.4f} sd(est-truth) {(a[:,0]-a[:,3]).std():.4f} mean-est {a[:,0].mean():.4f}")
