/* Which message kills its process? The consumer's record of what is in work, for spin. README.md says which label is
 * which function. One term after the other: what a superseded term does no longer reaches the store (tenure.pml).
 *
 * One message, or none, kills the process that handles it, always. KILLS others fall from outside, at any moment.
 *
 * Scope    MESSAGES, BATCH, ATTEMPTS; KILLS and HANDOVERS are budgets.
 * Mutants  NO_RECORD CHARGE_LATER BLAME_ALL HANDOVER_COUNTS NO_CLAIM_RULE
 */
#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef BATCH
#define BATCH 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef KILLS
#define KILLS 2
#endif
#ifndef HANDOVERS
#define HANDOVERS 1
#endif

byte arrived = 0; /* messages are numbered from 1, in the order of the source */
byte killer = 0;

/* The store. */
byte token = 0;
byte front = 1; /* what is before it is done, dead, and acknowledged */
byte recordedBy = 0;
byte lastInWork = 0; /* the record: ids from `front` to here */
bool more = false;
byte attempts[MESSAGES + 1];

/* What only the observer knows. */
byte deathsAlone[MESSAGES + 1];
byte killings = 0;

byte kills = KILLS;
byte handovers = HANDOVERS;

#define least(a, b) ((a) < (b) -> (a) : (b))
#define most(a, b) ((a) > (b) -> (a) : (b))
#define head (front + settled)

/* Everything that may have been begun has to be on record, or a killer would get away with it. */
#define isCovered(m) ((m) <= lastInWork || ((more || !recorded) && (m) < front + BATCH))

/* What a transaction writes beside its effects: what the next one may touch. */
inline commit(wanted) {
  n = front;
  do
  :: n < front + settled -> attempts[n] = 0; n++ /* cleared */
  :: else -> break
  od;
  front = front + settled;
  suspects = suspects - least(suspects, settled);
  settled = 0;
  n = (suspects > 0 -> suspects : wanted);
#ifndef NO_RECORD
  lastInWork = (fetched >= front -> front - 1 + least(n, fetched + 1 - front) : 0);
  more = (fetched + 1 < front + n);
  if :: lastInWork < front -> lastInWork = 0 :: else fi;
#endif
  if
  :: charged < front -> charged = 0
  :: else
  fi;
  recordedBy = token;
  recorded = true;
  granted = (suspects > 0 -> suspects : (more -> BATCH : (lastInWork > 0 -> lastInWork + 1 - front : 0)));
#ifdef NO_RECORD
  granted = BATCH;
#endif
  n = 0
}

active proctype Terms() {
  byte settled, fetched, granted, suspects, charged, n;
  bool recorded;

claim: true;
  d_step {
    settled = 0; charged = 0; n = 0; recorded = false;
    fetched = arrived; /* survey */
    suspects = (lastInWork >= front -> lastInWork + 1 - front : 0);
#ifndef NO_CLAIM_RULE
    if
    :: (more || recordedBy != token) && fetched >= front -> suspects = most(suspects, least(BATCH, fetched + 1 - front))
    :: else
    fi;
#endif
#ifdef NO_RECORD
    suspects = 0;
#endif
    granted = (suspects > 0 -> suspects : BATCH);
    token++
  };

proceed:
  do
  :: front > MESSAGES -> break
  :: d_step { kills > 0 -> kills-- }; goto died
  :: d_step { handovers > 0 -> handovers-- }; goto handOver
  :: d_step { fetched < arrived && settled == 0 -> fetched = arrived }
  :: settled > 0 -> /* the batch is over, at the latest when it is full */
     d_step { commit(BATCH) }
  :: settled == 0 && granted == 0 && head <= fetched -> /* nothing may begin: first say what will */
     d_step { commit(BATCH) }
  :: head <= fetched && settled < granted && settled < BATCH && (suspects == 0 || settled == 0) ->
beginHead:
     if
     :: suspects > 0 && charged != head && attempts[head] >= ATTEMPTS ->
        d_step {
          assert(head == killer || deathsAlone[head] >= ATTEMPTS); /* the innocent are not condemned */
          settled++ /* a dead letter */
        };
        goto proceed
#ifndef CHARGE_LATER
     :: suspects > 0 && charged != head && attempts[head] < ATTEMPTS ->
charge:
        d_step {
#ifdef BLAME_ALL
          n = front;
          do :: n < front + suspects -> attempts[n] = attempts[n] + 1; n++ :: else -> break od;
#else
          attempts[head] = attempts[head] + 1;
#endif
          charged = head;
          commit(BATCH)
        };
        goto proceed
#endif
     :: else
     fi;
handler:
     d_step { assert(isCovered(head)) };
     if
     :: head == killer ->
        d_step {
          killings++;
          assert(killings <= ATTEMPTS + 1) /* once unsuspected, then as often as it has attempts */
        };
        goto died
     :: d_step { head != killer && kills > 0 -> kills-- }; goto died
     :: head != killer
     fi;
#ifdef CHARGE_LATER
     d_step { if :: suspects > 0 -> attempts[head] = attempts[head] + 1 :: else fi };
#endif
     settled++ /* settle */
  od;
  goto over;

handOver: true;
  d_step {
    if
    :: settled > 0 -> commit(0)
    :: else
    fi;
    if
    :: charged != 0 ->
#ifndef HANDOVER_COUNTS
       attempts[charged] = attempts[charged] - 1;
#endif
       charged = 0;
       commit(0)
    :: charged == 0 && suspects > 0
    :: charged == 0 && suspects == 0 -> commit(0)
    fi
  };
  goto claim;

died: true;
  d_step {
    if
    :: charged != 0 -> deathsAlone[charged] = deathsAlone[charged] + 1
    :: else
    fi
  };
  goto claim;

over:
  skip
}

active proctype Producer() {
  byte k;
  do
  :: k < MESSAGES -> k++
  :: killer = k; break
  od;
  k = 0;
  do
  :: arrived < MESSAGES -> arrived++
  :: else -> break
  od
}

#ifdef LIVE
ltl everyMessageIsSettled { <> (front > MESSAGES) }
#endif
