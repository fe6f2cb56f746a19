{-# OPTIONS --safe #-}
-- The calculus: what a program is, and what a run of it does. There are no theorems here, only what
-- they are about. The name behind each definition is that of its Python counterpart in ixbackoff/.
--
-- How to read it: `ℕ` is the natural numbers, `A × B` are pairs, `⊤` has one value `tt` (Python's
-- `None`), `x ⊔ y` is max(x, y) and `x ∸ y` is max(x - y, 0). An argument in braces is found by the
-- type checker. ../proof.md says what is left out, and why.

module Calculus where

open import Data.Bool using (Bool; true; false; if_then_else_)
open import Data.List using (List; []; _∷_; take)
open import Data.Maybe using (Maybe; just; nothing)
import Data.Maybe as Maybe
open import Data.Nat using (ℕ; zero; suc; pred; _+_; _∸_; _⊔_; _≤_)
open import Data.Product using (Σ; _×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Function using (id)
open import Relation.Nullary using (Dec; yes; no)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)

private variable
  A B : Set
  I O J : ℕ

-- What all is abstract in: any commands, any answers, any exceptions.
record Signature : Set₁ where
  field
    Command  : Set                            -- _words/commands.Command; the ladder's Delay is not one
    Answer   : Command → Set                  -- the R of Command[R]
    _same_   : (c d : Command) → Dec (c ≡ d)  -- _meaning/replay._same
    Failure  : Set                            -- exceptions
    asked    : Failure → ℕ                    -- _words/verdicts.asked_for: Retry-After, or 0
    diverged : Failure                        -- _meaning/replay.Diverged

module Language (signature : Signature) where
  open Signature signature

  -- What comes of anything: it is well, it has failed, or the run is over. `over` is what no step of
  -- a program recovers from (Run.recoverable): a Misuse, a wait that was not waited, and exceptions
  -- that are not an Exception, such as KeyboardInterrupt.
  data Outcome {ℓ} (A : Set ℓ) : Set ℓ where
    well        : A → Outcome A
    failed over : Failure → Outcome A

  mapᴼ : ∀ {ℓ ℓ′} {X : Set ℓ} {Y : Set ℓ′} → (X → Y) → Outcome X → Outcome Y
  mapᴼ f (well a)   = well (f a)
  mapᴼ f (failed e) = failed e
  mapᴼ f (over e)   = over e

  -- _writing/attempts.Attempt, and every effect: a generator as a tree. It has ended, or it asks a
  -- command and goes on in a way that depends on what came of it: with try, except and finally it
  -- may do anything there, but wait.
  data Attempt (A : Set) : Set where
    ended : Outcome A → Attempt A
    asks  : (c : Command) → (Outcome (Answer c) → Attempt A) → Attempt A

  -- A command as an effect, and tests/support/laws.pure.
  command : (c : Command) → Attempt (Answer c)
  command c = asks c ended

  pure : A → Attempt A
  pure a = ended (well a)

  -- `on=`: _words/failures.Predicate.
  On : Set
  On = Failure → Bool

  -- Attempt.then and Attempt.or_else.
  thenᴬ : Attempt A → (A → Attempt B) → Attempt B
  thenᴬ (ended (well a))   f = f a
  thenᴬ (ended (failed e)) f = ended (failed e)
  thenᴬ (ended (over e))   f = ended (over e)
  thenᴬ (asks c k)         f = asks c λ o → thenᴬ (k o) f

  or-elseᴬ : Attempt A → On → Attempt A → Attempt A
  or-elseᴬ (ended (well a))   on y = ended (well a)
  or-elseᴬ (ended (failed e)) on y = if on e then y else ended (failed e)
  or-elseᴬ (ended (over e))   on y = ended (over e)
  or-elseᴬ (asks c k)         on y = asks c λ o → or-elseᴬ (k o) on y

  -- What a retry tries: an effect made for each rung, which may fail to be made (Vary.on; a Retry has
  -- the same for all), or one that is resumed (Resume).
  data Trying (A : Set) : Set where
    afresh  : (ℕ → Outcome (Attempt A)) → Trying A
    resumed : Attempt A → Trying A

  -- Whether a bind tells on which rung its program ends: the annotation of its function says so
  -- (Joint.end), or nothing does.
  data Ending : Set where
    said unsaid : Ending

  -- _writing/programs.Program[I, O, A]: a chain of steps that starts with I waits left and ends with
  -- O. Each step has the indices of its Python signature. (Two differences: `J ≤ O` in the binds
  -- is not in Python's types, it is checked when the program is put together or entered, see
  -- Counterexamples; and the union A | B of or_else and or_bind is one type A here.) A function that
  -- is given to a step may raise, so it has an Outcome.
  data Program : ℕ → ℕ → Set → Set₁ where
    at      : ∀ I → Program I I ⊤
    then    : Program I O A → (A → Outcome (Attempt B)) → Program I O B
    map     : Program I O A → (A → Outcome B) → Program I O B
    or-else : Program I O A → On → Attempt A → Program I O A
    bind    : Ending → J ≤ O → Program I O A → (A → Outcome (Program O J B)) → Program I J B
    or-bind : Ending → J ≤ O → Program I O A → On → (Failure → Outcome (Program O J A)) → Program I J A
    _>>_    : Program I O A → Program O J B → Program I J B
    or-join : Program I O A → On → Program O J A → Program I J A   -- p | q
    backoff : Program I (suc O) A → On → Program I O A
    wait    : Program I (suc O) A → Program I O A
    skip    : Program I (suc O) A → Program I O A
    tries   : Program I O A → On → Trying B → Program I 0 B        -- retry, retry-with and resume, below
    end : Program I O A → Program I 0 A
    stands  : Program I O A → Program I O A                        -- .at(N)

  infixl 5 _>>_

  -- Program.do, .retry, .retry_with and .resume.
  do′ : Program I O A → Attempt B → Program I O B
  do′ p x = then p λ _ → well x

  retry resume : Program I O A → On → Attempt B → Program I 0 B
  retry p on x  = tries p on (afresh λ _ → well x)
  resume p on x = tries p on (resumed x)

  retry-with : Program I O A → On → (ℕ → Outcome (Attempt B)) → Program I 0 B
  retry-with p on x = tries p on (afresh x)

  -- _meaning/chains.Ladder.bound: where a run takes itself to be when it has passed p over.
  bound : Program I O A → ℕ
  bound (at I)                       = I
  bound (then p f)                   = bound p
  bound (map p f)                    = bound p
  bound (or-else p on x)             = bound p
  bound (bind {J = J} said _ p f)       = J
  bound (bind unsaid _ p f)             = bound p
  bound (or-bind {J = J} said _ p on f) = J
  bound (or-bind unsaid _ p on f)       = bound p
  bound (p >> q)                     = bound q
  bound (or-join p on q)             = bound q
  bound (backoff p on)               = pred (bound p)
  bound (wait p)                     = pred (bound p)
  bound (skip p)                     = pred (bound p)
  bound (tries p on x)               = 0
  bound (end p)                  = 0
  bound (stands {O = O} p)           = O

  -- What an interpreter sees of a run: its commands, and _words/standard_commands.Delay(seconds, rung) with its number k.
  data Event : Set where
    issued : Command → Event
    waited : (rung k seconds : ℕ) → Event

  -- All histories are lists with the newest event first. Their seconds, their ks, their commands:
  waits : List Event → List ℕ
  waits []                 = []
  waits (issued c ∷ h)     = waits h
  waits (waited r k s ∷ h) = s ∷ waits h

  ks : List Event → List ℕ
  ks []                 = []
  ks (issued c ∷ h)     = ks h
  ks (waited r k s ∷ h) = k ∷ ks h

  issues : List Event → ℕ
  issues []                 = 0
  issues (issued c ∷ h)     = suc (issues h)
  issues (waited r k s ∷ h) = issues h

  -- _meaning/replay.Entry: a command that was issued and what came of it; a log has the oldest first.
  Log : Set
  Log = List (Σ Command λ c → Outcome (Answer c))

  -- Who answers, and how long the waits are. An interpreter may have any state, its `World`, and may
  -- fail any command and any wait. `schedule` is any function of k, also a falling one; since no k is
  -- asked for twice in a run that ends (P2), it is also any random schedule. Seconds are naturals.
  record Setting : Set₁ where
    field
      World    : Set
      answer   : (c : Command) → World → Outcome (Answer c) × World
      sleep    : ℕ → World → Maybe Failure × World
      schedule : ℕ → ℕ              -- schedules/kinds.Schedule.begin()
      lengthen : ℕ → ℕ → ℕ          -- the floor: max, in _meaning/retrying
      place    : Log → Failure → ℕ  -- _meaning/replay._failed_at: any function
      top      : ℕ                  -- Run.top: the rung where the whole program starts

  -- N0 to N20 end. FOREVER (_words/rungs.ENDLESS) does not: it has the waits of the deepest ladder (so its
  -- top is 20), and the last of them again and again. A run there that is never well has no end, but what
  -- it does until somebody ends it has: after so many waits of a retry, with such an exception.
  data Ladder : Set where
    ends    : Ladder
    forever : (patience : ℕ) → Failure → Ladder

  -- The rung below (`run.rung -= 1` in semantics.retried; for FOREVER runs.number_after).
  below : Ladder → ℕ → ℕ
  below ends          r = pred r
  below (forever _ _) r = 1 ⊔ pred r

  -- How often a retry that begins on this rung may wait: the `rungs` of _meaning/retrying.
  rounds : Ladder → ℕ → ℕ
  rounds ends                 r       = r
  rounds (forever patience _) zero    = zero
  rounds (forever patience _) (suc r) = patience

  -- What comes of a failure after that many waits, where descents gives None: the failure itself.
  at-the-end : Ladder → ℕ → Failure → Outcome A
  at-the-end ends                  r       e = failed e
  at-the-end (forever _ _)         zero    e = failed e
  at-the-end (forever _ ended-by)  (suc r) e = over ended-by

  module Run (setting : Setting) (ladder : Ladder) where
    open Setting setting

    -- _meaning/runs.Run: `floor` is Run.shortest, `tried` is Run.tries, the attempts made. (Run.sure
    -- guards only checks that typed code passes.)
    record State : Set where
      constructor state
      field
        world   : World
        floor   : ℕ
        rung    : ℕ
        tried   : ℕ
        history : List Event
    open State public

    Result : Set → Set
    Result A = Outcome A × State

    -- Run.descend: to a rung, or one down.
    to : ℕ → State → State
    to n s = record s { rung = n }

    down : State → State
    down s = to (below ladder (rung s)) s

    one-try : State → State
    one-try s = record s { tried = suc (tried s) }

    -- _meaning/semantics.chained with its tables WELL and FAILED: a step acts when the program is well,
    -- or when it has failed with what `on` chooses; otherwise it is passed over, and only moves.
    when-well : Result A → (State → State) → (A → State → Result B) → Result B
    when-well (well a   , s) pass act = act a s
    when-well (failed e , s) pass act = failed e , pass s
    when-well (over e   , s) pass act = over e , s

    when-failed : Result A → (State → State) → On → (Failure → State → Result A) → Result A
    when-failed (well a   , s) pass on act = well a , pass s
    when-failed (failed e , s) pass on act = if on e then act e s else (failed e , pass s)
    when-failed (over e   , s) pass on act = over e , s

    in-any-case : Result A → (State → State) → Result A
    in-any-case (well a   , s) pass = well a , pass s
    in-any-case (failed e , s) pass = failed e , pass s
    in-any-case (over e   , s) pass = over e , s

    -- semantics.attempted: each command is issued, and what comes of it is sent or thrown in.
    perform : Attempt A → State → Result A
    perform (ended o)  s = o , s
    perform (asks c k) (state w f r t h) =
      perform (k (proj₁ (answer c w))) (state (proj₂ (answer c w)) f r t (issued c ∷ h))

    -- semantics.performed and steps.checked_effect: one try more, if there is something to try.
    try : Outcome (Attempt A) → State → Result A
    try (well x)   s = perform x (one-try s)
    try (failed e) s = failed e , s
    try (over e)   s = over e , s

    -- semantics.waited: no shorter than the floor, than the schedule says, than the service asked for.
    -- A wait that fails ends the run.
    unless : Maybe Failure → Outcome A → Outcome A
    unless nothing  o = o
    unless (just e) o = over e

    pausing : ℕ → ℕ → ℕ → ℕ
    pausing floor rung retry-after = lengthen floor (schedule (top ∸ rung) ⊔ retry-after)

    waiting : ℕ → Outcome A → State → Result A
    waiting retry-after o (state w f r t h) =
      let seconds = pausing f r retry-after
          failure , w′ = sleep seconds w
      in unless failure o , state w′ seconds (below ladder r) t (waited r (top ∸ r) seconds ∷ h)

    -- replay.replay: answered from the log as far as it goes, and then from outside; with the new
    -- log, or none if it issued another command than before. Its cleaning up is asked from outside.
    replay : Attempt A → Log → State → Result A × Maybe Log
    replay (ended o)  log s = (o , s) , just []
    replay (asks c k) [] (state w f r t h) =
      let o , w′ = answer c w
          result , log = replay (k o) [] (state w′ f r t (issued c ∷ h))
      in result , Maybe.map ((c , o) ∷_) log
    replay (asks c k) ((d , o) ∷ log) s with d same c
    ... | yes refl = let result , log′ = replay (k o) log s in result , Maybe.map ((c , o) ∷_) log′
    ... | no _     = perform (k (over diverged)) s , nothing

    -- The rest of replay.replay: what came of the command that failed, and after it, is forgotten.
    cut : Log → Result A × Maybe Log → Result A × Log
    cut old ((failed e , s) , just log) = (failed e , s) , take (place log e) log
    cut old (result , just log)         = result , log
    cut old (result , nothing)          = result , old

    -- semantics.retried with _meaning/retrying.descents: what is left of a retry after a try, with so many
    -- waits left. What its tries remember is `L`: nothing, or for a resume the log.
    rest : {L : Set} → ℕ → On → (L → State → Result A × L) → Result A × L → Result A
    rest zero on attempt (r , l) =
      when-failed r (to 0) on λ e s → at-the-end ladder (rung s) e , to 0 s
    rest (suc n) on attempt (r , l) =
      when-failed r (to 0) on λ e s →
      when-failed (waiting (asked e) (failed e) s) id (λ _ → true) λ _ s′ →
      rest n on attempt (attempt l s′)

    loop : {L : Set} → ℕ → On → (L → State → Result A × L) → L → State → Result A
    loop n on attempt l s = rest n on attempt (attempt l s)

    -- A try of a retry or retry-with, and of a resume (semantics.Again).
    fresh : (ℕ → Outcome (Attempt A)) → ⊤ → State → Result A × ⊤
    fresh x _ s = try (x (rung s)) s , tt

    again : Attempt A → Log → State → Result A × Log
    again x log s = cut log (replay x log (one-try s))

    tried-on : On → Trying A → State → Result A
    tried-on on (afresh x)  s = loop (rounds ladder (rung s)) on (fresh x) tt s
    tried-on on (resumed x) s = loop (rounds ladder (rung s)) on (again x) [] s

    -- Where a bind leads that is passed over or has ended (Run.descend, Run.left): if nothing tells
    -- where its program ends, the run stays where it is.
    left : Ending → ℕ → State → State
    left said   J = to J
    left unsaid J = id

    -- _meaning/semantics, its tables: what each step does. It is a program's whole meaning.
    mutual
      eval : Program I O A → State → Result A
      eval (at I)             s = well tt , to I s
      eval (then p f)         s = when-well (eval p s) id λ a → try (f a)
      eval (map p f)          s = when-well (eval p s) id λ a s → f a , s
      eval (or-else p on x)   s = when-failed (eval p s) id on λ _ → try (well x)
      eval (bind {J = J} exit _ p f) s =
        when-well (eval p s) (left exit J) λ a s → in-any-case (enter (f a) s) (left exit J)
      eval (or-bind {J = J} exit _ p on f) s =
        when-failed (eval p s) (left exit J) on λ e s → in-any-case (enter (f e) s) (left exit J)
      eval (p >> q)           s = when-well (eval p s) (to (bound q)) λ _ → eval q
      eval (or-join p on q)   s = when-failed (eval p s) (to (bound q)) on λ _ → eval q
      eval (backoff p on)     s = when-failed (eval p s) down on λ e → waiting (asked e) (failed e)
      eval (wait p)           s = when-well (eval p s) down λ a → waiting 0 (well a)
      eval (skip p)           s = in-any-case (eval p s) down
      eval (tries p on x)     s = when-well (eval p s) (to 0) λ _ → tried-on on x
      eval (end p)        s = in-any-case (eval p s) (to 0)
      eval (stands {O = O} p) s = in-any-case (eval p s) (to O)

      -- Run.entered.
      enter : Outcome (Program I O A) → State → Result A
      enter (well q)   s = eval q s
      enter (failed e) s = failed e , s
      enter (over e)   s = over e , s

    -- How a run begins (Run.__init__), and what it has done when it has ended.
    begin : World → State
    begin w = state w 0 top 0 []

    run : Program top O A → World → Result A
    run p w = eval p (begin w)

    done : Program top O A → World → List Event
    done p w = history (proj₂ (run p w))
