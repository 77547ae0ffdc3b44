/* Election, barrier, fence, delivery and handover of Tenure, for spin. README.md says which label is which function.
 *
 * What a replica can only learn late, it may learn late: that its session has expired, that its znode was deleted. A
 * replica whose znode is gone may go on for as long as it likes; a killed one leaves its znode, its consumer and its
 * marker behind until a timeout or the last will takes them away.
 *
 * Scope    REPLICAS, MESSAGES; FAULTS and HANDOVERS are budgets. SHARED: source and store are one database.
 * Mutants  NO_FENCE CHECK_THEN_WRITE LAZY_CLAIM READ_BEFORE_CLAIM NO_DEDUP NO_EXCLUSIVITY ACK_FIRST NO_BARRIER
 *          NO_OWN_CHECK BLIND_MARK EARLY_RESIGN ANY_TERM SEQUENCE_TOKEN SEQUENCE_TOKEN+EQUAL_CLAIM STRICT
 *          BATON_UNCHECKED EARLY_BATON BATON_BY_NAME BLIND_AGAIN
 */
#ifndef REPLICAS
#define REPLICAS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef HANDOVERS
#define HANDOVERS 1
#endif
/* A candidacy begins with a start, a fault or a handover, never by itself. A baton sends all to the back that stand
 * before its heir. */
#ifdef SEQUENCE_TOKEN
#define CANDIDACIES (REPLICAS + FAULTS * REPLICAS + HANDOVERS)
#else
#define CANDIDACIES (REPLICAS + FAULTS + HANDOVERS * (REPLICAS - 1))
#endif
#define SLOTS (CANDIDACIES + 1)

/* The ensemble, as its quorum has committed it. A candidacy is named by its czxid, from 1. */
byte czxid = 0;
bool znode[SLOTS];
bool dead[SLOTS];   /* its process was killed */
byte leftBehind = 0; /* znodes of the dead */
byte marker = 0;  /* the last term */
bool busy = false;
byte version = 0; /* of the marker */
byte asked = 0;   /* the term that a handover request names */
byte heir = 0;    /* the candidacy that has accepted the leadership, 0 for none */
byte heirOf = 0;  /* the term that it is to follow */
#ifdef SEQUENCE_TOKEN
byte sequence = 0; /* restarts with its parent */
#endif

/* The store. */
byte fence = 0;
byte state = 0;
bool key[MESSAGES + 1];

/* The source. */
byte consumer = 0; /* who is attached */
bool acknowledged[MESSAGES + 1];
byte acknowledgements = 0;
#ifdef NO_EXCLUSIVITY
byte held[MESSAGES + 1];
#endif

/* What only the observer knows. */
byte effects = 0;
bool applied[MESSAGES + 1];
byte highest = 0;    /* token ever claimed */
bool inWork[SLOTS];  /* its handler runs */
#ifdef BATON_BY_NAME
byte by[SLOTS];      /* whose candidacy it is */
#endif
bool overran[SLOTS]; /* somebody waited out its barrier limit, and said so */

byte faults = FAULTS;
byte handovers = HANDOVERS;

#ifdef NO_VERSION
#define MARKER_UNCHANGED true
#else
#define MARKER_UNCHANGED version == seen
#endif
#if defined(BATON_UNCHECKED) || defined(BATON_BY_NAME)
#define CHECKED(c) true
#else
#define CHECKED(c) znode[c]
#endif
#define allDone (acknowledgements == MESSAGES)
#define fault d_step { faults > 0 -> faults-- }

inline isOldest(c, yes) {
  k = 1;
  yes = true;
  do
  :: k < c -> yes = yes && !znode[k]; k++
  :: else -> break
  od;
  k = 0
}

inline remove(c) {
  if
  :: dead[c] && znode[c] -> leftBehind--
  :: else
  fi;
  znode[c] = false
}

/* One write: the heir's znode is there, the marker is as it was read; those between go, and so does the leader. */
inline passBaton() {
#ifndef BATON_BY_NAME
  assert(znode[heir]); /* who becomes leader is a candidate at that moment */
#endif
  k = own;
  do
  :: k < heir -> remove(k); k++
  :: else -> break
  od;
  k = 0;
  marker = heir;
  busy = true;
  version++;
  heir = 0;
  heirOf = 0
}

/* S6: two handlers at once, only if the older one had its full barrier. */
inline handlerBegins(c) {
  k = 1;
  do
  :: k <= czxid ->
     if
     :: inWork[k] && k != c ->
#ifdef STRICT
        assert(false);
#endif
        assert((k < c && overran[k]) || (k > c && overran[c]))
     :: else
     fi;
     k++
  :: else -> break
  od;
  k = 0;
  inWork[c] = true
}

inline oneEffect(m) {
  assert(token >= highest);        /* S1: no commit under a superseded term */
  assert(!applied[m]);             /* S2: at most one effect a message */
  assert(m == 1 || applied[m - 1]); /* S3: in the order of the source */
  applied[m] = true;
  effects++;
  base++;
  state = base;
  assert(state == effects) /* S4: nothing written over a stale base */
}

inline acknowledge(m) {
  assert(applied[m]); /* S5: only after the effect */
  if
  :: !acknowledged[m] -> acknowledged[m] = true; acknowledgements++
  :: else
  fi
}

inline detach() {
  if
  :: consumer == own -> consumer = 0
  :: else
  fi;
#ifdef NO_EXCLUSIVITY
  m = 1;
  do
  :: m <= MESSAGES ->
     if
     :: held[m] == own -> held[m] = 0
     :: else
     fi;
     m++
  :: else -> break
  od;
#endif
  m = 0
}

proctype Replica() {
  byte own, token, base, m, seen, holder, k;
  bool waited, ok;

enrol: true;
  atomic {
#ifdef SEQUENCE_TOKEN
    if
    :: czxid == CANDIDACIES -> goto over
    :: else
    fi;
#endif
    d_step {
      m = 0; base = 0; holder = 0; seen = 0; waited = false; ok = false;
      assert(czxid < CANDIDACIES);
      czxid++;
      own = czxid;
      znode[own] = true;
#ifdef BATON_BY_NAME
      by[own] = _pid;
#endif
#ifdef SEQUENCE_TOKEN
      sequence++;
      token = sequence
#else
      token = own
#endif
    }
  };

standby:
  do
  :: allDone -> goto leave
  :: !znode[own] -> goto enrol
  :: fault; goto killed
  :: d_step { znode[own] && busy && asked == marker && marker < own && heirOf != marker -> heir = own; heirOf = marker }
#ifdef BATON_BY_NAME
  :: d_step { busy && marker != 0 && marker != own && by[marker] == _pid -> seen = version; holder = 0 }; goto claim
#else
  :: d_step { busy && marker == own -> seen = version; holder = 0 }; goto claim
#endif
  :: atomic { d_step { znode[own]; isOldest(own, ok) }; if :: ok -> ok = false; break :: else fi }
  od;

readingMarker: true;
  d_step {
    seen = version;
    waited = false;
    if
    :: busy && marker != own -> holder = marker
    :: else -> holder = 0
    fi
  };

#ifndef NO_BARRIER
barrier:
  do
  :: holder == 0 -> break                   /* none, or idle */
  :: holder != 0 && dead[holder] -> break   /* proven gone */
  :: holder != 0 -> waited = true; break    /* the limit */
  :: version != seen -> goto readingMarker  /* the watch */
  :: !znode[own] -> goto enrol
  :: fault; goto killed
  od;
#endif

marking:
  if
#ifdef BLIND_MARK
  :: d_step { true ->
#else
#ifdef NO_OWN_CHECK
  :: d_step { version == seen ->
#else
  :: d_step { (MARKER_UNCHANGED) && znode[own] ->
#endif
#endif
#if !defined(NO_OWN_CHECK) && !defined(BLIND_MARK)
       assert(znode[own]); /* who becomes leader is a candidate at that moment */
#endif
       marker = own; busy = true;
       version++;
       seen = version;
       if :: waited -> overran[holder] = true :: else fi;
       holder = 0
     };
     if
     :: true
     :: fault; goto readingMarker /* the reply was lost; our own mark is nobody to wait for */
     fi
#ifndef BLIND_MARK
  :: version != seen -> goto readingMarker
#ifndef NO_OWN_CHECK
  :: !znode[own] -> goto enrol
#endif
#endif
  fi;

#ifdef READ_BEFORE_CLAIM
  base = state;
#endif
claim:
#ifndef LAZY_CLAIM
  if
#ifdef EQUAL_CLAIM
  :: d_step { fence <= token -> fence = token; highest = token }
  :: fence > token -> goto resignUncleanly
#else
  :: d_step { fence < token -> fence = token; highest = token }
  :: d_step { fence >= token -> assert(!znode[own]) }; /* S7: refused only to who has been succeeded */
     goto resignUncleanly
#endif
  :: d_step { handovers > 0 -> handovers-- }; goto resign
  :: fault; goto killed
  fi;
#endif

recall:
#ifndef READ_BEFORE_CLAIM
  base = state;
#endif

attach:
#ifndef SHARED
  if
#ifdef NO_EXCLUSIVITY
  :: true -> consumer = own
#else
  :: d_step { consumer == 0 -> consumer = own }
#endif
  :: allDone -> goto resign
  :: !znode[own] -> goto resignUncleanly
  fi;
#endif

execute:
  do
  :: allDone -> goto resign
  :: !znode[own] -> goto resignUncleanly /* the lease, a probe or a watch told */
#ifdef ANY_TERM
  :: asked != 0 -> goto resign
#else
  :: asked == own -> goto resign
#endif
  :: fault; goto killed
#if !defined(SHARED) && !defined(NO_EXCLUSIVITY)
  :: consumer != own -> goto attach
#endif
  :: atomic { /* fetch */
#if defined(SHARED) || defined(NO_EXCLUSIVITY)
       !allDone ->
#else
       !allDone && consumer == own ->
#endif
       d_step {
         m = 1;
#ifdef NO_EXCLUSIVITY
         do :: m <= MESSAGES && (acknowledged[m] || (held[m] != 0 && held[m] != own)) -> m++ :: else -> break od;
         if :: m <= MESSAGES -> held[m] = own :: else -> m = 0 fi
#else
         do :: acknowledged[m] -> m++ :: else -> break od
#endif
       };
       if
       :: m == 0 -> goto execute
       :: else -> d_step { handlerBegins(own) }
       fi
     };

handler:
#ifdef EARLY_RESIGN
     if
     :: d_step { handovers > 0 && znode[own] && version == seen -> handovers--; busy = false; version++; znode[own] = false }
     :: true
     fi;
#endif
     if
     :: fault; goto killed
     :: true
     fi;
#ifdef EARLY_BATON
     if
     :: d_step { heir != 0 && heirOf == own && znode[own] && znode[heir] && version == seen -> passBaton() }
     :: true
     fi;
#endif
#ifdef ACK_FIRST
     d_step { acknowledge(m) };
#endif

commit: true;
#ifdef CHECK_THEN_WRITE
     ok = (fence == token);
     d_step {
#else
     d_step {
#ifdef NO_FENCE
       ok = true;
#else
#ifdef LAZY_CLAIM
       ok = (fence <= token);
       if :: ok -> fence = token; highest = (token > highest -> token : highest) :: else fi;
#else
       ok = (fence == token);
#endif
#endif
#endif
       if
       :: !ok
#ifndef NO_DEDUP
       :: ok && key[m] /* a duplicate: acknowledged and dropped */
       :: ok && !key[m] ->
#else
       :: ok ->
#endif
          oneEffect(m);
          key[m] = true
       fi;
#ifdef SHARED
       if :: ok -> acknowledge(m) :: else fi
#endif
     };
     if
     :: true
     :: fault; goto commit /* the reply was lost: asked again under the same key */
     fi;
     inWork[own] = false;
     if
     :: !ok -> goto resignUncleanly /* fenced */
     :: fault; goto killed
     :: ok -> ok = false
     fi;

#ifndef SHARED
     d_step {
#ifdef NO_EXCLUSIVITY
       if :: held[m] == own -> held[m] = 0; acknowledge(m) :: else fi;
#else
       if :: consumer == own -> acknowledge(m) :: else fi;
#endif
       m = 0
     }
#else
     m = 0
#endif
  od;

resign: true; /* the career is home: detached, then marker and znode in one write */
  d_step { detach() };
  if
  :: d_step { heir != 0 && heirOf == own && znode[own] && version == seen && CHECKED(heir) -> passBaton() }
  :: d_step {
       if
       :: znode[own] && version == seen -> busy = false; version++; znode[own] = false
       :: else -> znode[own] = false
       fi
     }
#ifdef BLIND_AGAIN
  :: d_step { ok -> busy = false; version++; znode[own] = false }
#endif
  fi;
  if
  :: ok = false
  :: fault; ok = true; goto resign /* the reply was lost: written again, and no marker that is another's by now */
  fi;
  if
  :: allDone -> goto over
  :: else -> goto enrol
  fi;

resignUncleanly: true; /* the marker stays busy */
  d_step { inWork[own] = false; detach(); znode[own] = false };
  if
  :: allDone -> goto over
  :: else -> goto enrol
  fi;

killed: true;
  d_step {
    dead[own] = true;
    inWork[own] = false;
    if :: znode[own] -> leftBehind++ :: else fi
  };
  goto enrol; /* its supervisor starts it again */

leave:
  znode[own] = false;
over:
  skip
}

/* Timeouts of the dead, and their last will. */
active proctype Timeouts() {
  byte k;
  do
  :: allDone -> break
  :: atomic {
       leftBehind > 0 ->
       d_step { k = 1; do :: !(dead[k] && znode[k]) -> k++ :: else -> break od };
       if
       :: busy && marker == k -> busy = false; version++ /* multi[check own, marker idle]: the last will */
       :: true
       fi;
       d_step { remove(k); k = 0 }
     }
  :: d_step { consumer != 0 && dead[consumer] -> consumer = 0 }
#ifdef NO_EXCLUSIVITY
  :: d_step { k = 1; do :: k <= MESSAGES && !(held[k] != 0 && dead[held[k]]) -> k++ :: else -> break od;
              if :: k <= MESSAGES -> held[k] = 0 :: else fi; k = 0 }
#endif
  od
}

/* What befalls the living: a session expires or an operator deletes a znode; a connection drops; an operator asks. */
active proctype World() {
  byte k;
  do
  :: allDone -> break
  :: atomic {
       faults > 0 && czxid > 0 -> faults--; k = 1;
       do :: k < czxid -> k++ :: break od;
       d_step { remove(k); k = 0 }
     }
#ifndef SHARED
  :: d_step { faults > 0 && consumer != 0 -> faults--; consumer = 0 }
#ifdef NO_EXCLUSIVITY
  :: d_step { faults > 0 && held[1] != 0 -> faults--; held[1] = 0 }
#endif
#endif
  :: d_step { handovers > 0 && busy -> handovers--; asked = marker }
#ifdef SEQUENCE_TOKEN
  :: d_step { faults > 0 && sequence > 0 -> faults--; sequence = 0; /* the parent is deleted and made again */
              k = 1; do :: k <= czxid -> remove(k); k++ :: else -> break od; k = 0 }
#endif
  od
}

init {
  byte k;
  atomic {
    do
    :: k < REPLICAS -> run Replica(); k++
    :: else -> break
    od
  }
}

#ifdef LIVE
ltl everyMessageIsDone { <> (acknowledgements == MESSAGES) }
#endif
