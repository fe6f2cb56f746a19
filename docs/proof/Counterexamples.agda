{-# OPTIONS --safe #-}
-- What each part of the design is for: runs that go wrong without it. All are computed (`refl`).

module Counterexamples where

open import Calculus
open import Data.Bool using (true)
open import Data.List using (List; []; _∷_; length)
open import Data.List.Relation.Unary.Linked using (Linked; _∷_)
open import Data.Maybe using (nothing)
open import Data.Nat
open import Data.Product using (_×_; _,_; proj₂)
open import Data.Unit using (⊤; tt)
open import Relation.Nullary using (¬_; yes)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)

-- There is one command, `ask`. A failure is its Retry-After. The world is a list of the failures to come.
one-command : Signature
one-command = record
  { Command = ⊤ ; Answer = λ _ → ⊤ ; _same_ = λ _ _ → yes refl ; Failure = ℕ ; asked = λ e → e ; diverged = 0 }

open Language one-command

answers : ⊤ → List ℕ → Outcome ⊤ × List ℕ
answers _ []       = well tt , []
answers _ (e ∷ es) = failed e , es

with-floor without-floor : ℕ → ℕ → ℕ
with-floor            = _⊔_
without-floor f again = again

falling powers : ℕ → ℕ
falling k = 4 ∸ k
powers k  = 2 ^ k

setting : (floor : ℕ → ℕ → ℕ) → (schedule : ℕ → ℕ) → ℕ → Setting
setting floor schedule top = record
  { World = List ℕ ; answer = answers ; sleep = λ _ w → nothing , w
  ; schedule = schedule ; lengthen = floor ; place = λ _ _ → 0 ; top = top }

ask : Attempt ⊤
ask = command tt

always : On
always _ = true

-- The waits of a run, newest first.
waits-of : ∀ {I O A} → (ℕ → ℕ → ℕ) → (ℕ → ℕ) → List ℕ → Program I O A → List ℕ
waits-of {I} floor schedule failures p = waits (done p failures)
  where open Run (setting floor schedule I) ends


-- The floor is for schedules that fall, and for a Retry-After that is longer than what the schedule says next.

twice : Program 2 0 ⊤
twice = retry (at 2) always ask

with-a-floor-a-falling-schedule-does-not-fall : waits-of with-floor falling (0 ∷ 0 ∷ []) twice ≡ 4 ∷ 4 ∷ []
with-a-floor-a-falling-schedule-does-not-fall = refl

without-a-floor-a-falling-schedule-shortens-a-wait : ¬ Linked _≥_ (waits-of without-floor falling (0 ∷ 0 ∷ []) twice)
without-a-floor-a-falling-schedule-shortens-a-wait (s≤s (s≤s (s≤s ())) ∷ _)

with-a-floor-no-wait-is-shorter-than-a-Retry-After-before : waits-of with-floor powers (5 ∷ 0 ∷ []) twice ≡ 5 ∷ 5 ∷ []
with-a-floor-no-wait-is-shorter-than-a-Retry-After-before = refl

without-a-floor-a-Retry-After-makes-the-next-wait-shorter : ¬ Linked _≥_ (waits-of without-floor powers (5 ∷ 0 ∷ []) twice)
without-a-floor-a-Retry-After-makes-the-next-wait-shorter (s≤s (s≤s ()) ∷ _)


-- The index is for P2. A step `reset` that goes up again, which no Program can hold (no-program-goes-up), would
-- have a ladder of 2 wait 4 times, and without a floor the third wait would be shorter than the second.

module Reset (floor : ℕ → ℕ → ℕ) where
  open Run (setting floor powers 2) ends

  run-twice : List ℕ → List Event
  run-twice failures = history (proj₂ (eval twice (to 2 (proj₂ (eval twice (begin failures))))))

all-fail : List ℕ
all-fail = 0 ∷ 0 ∷ 0 ∷ 0 ∷ 0 ∷ 0 ∷ []

with-a-reset-a-ladder-of-2-waits-4-times : length (waits (Reset.run-twice with-floor all-fail)) ≡ 4
with-a-reset-a-ladder-of-2-waits-4-times = refl

with-a-reset-the-numbers-of-the-waits-begin-again : ks (Reset.run-twice with-floor all-fail) ≡ 1 ∷ 0 ∷ 1 ∷ 0 ∷ []
with-a-reset-the-numbers-of-the-waits-begin-again = refl

with-a-reset-and-no-floor-a-wait-is-shorter : ¬ Linked _≥_ (waits (Reset.run-twice without-floor all-fail))
with-a-reset-and-no-floor-a-wait-is-shorter (_ ∷ s≤s () ∷ _)


-- `.at(N)` and annotations are for a bind that is passed over: its function is not called, so nothing tells where
-- it would have ended. Then `p >> q` and `p.bind(lambda _: q)` differ once a wait follows. (docs/limits.md)

one-lower : Program 2 1 ⊤
one-lower = skip (at 2)

behind-a-join behind-a-bind behind-a-bind-that-says : Program 2 0 ⊤
behind-a-join           = backoff (do′ (at 2) ask >> one-lower) always
behind-a-bind           = backoff (bind unsaid (s≤s z≤n) (do′ (at 2) ask) λ _ → well one-lower) always
behind-a-bind-that-says = backoff (bind said (s≤s z≤n) (do′ (at 2) ask) λ _ → well one-lower) always

behind-a-join-the-wait-has-the-number-of-its-index : waits-of with-floor powers (0 ∷ []) behind-a-join ≡ 2 ∷ []
behind-a-join-the-wait-has-the-number-of-its-index = refl

behind-a-bind-it-has-that-of-the-rung-before : waits-of with-floor powers (0 ∷ []) behind-a-bind ≡ 1 ∷ []
behind-a-bind-it-has-that-of-the-rung-before = refl

behind-a-bind-that-says-where-it-ends-it-is-as-behind-a-join :
  waits-of with-floor powers (0 ∷ []) behind-a-bind-that-says ≡ 2 ∷ []
behind-a-bind-that-says-where-it-ends-it-is-as-behind-a-join = refl

-- So a retry behind it can have more tries than its index says. P1 and P2 hold all the same.
recovered : Ending → Program 2 0 ⊤
recovered exit = or-else (bind exit z≤n (do′ (at 2) ask) λ _ → well (end (at 2))) always (pure tt)

a-retry-at-0-waits-twice : waits-of with-floor powers (0 ∷ 0 ∷ 0 ∷ []) (retry (recovered unsaid) always ask) ≡ 2 ∷ 1 ∷ []
a-retry-at-0-waits-twice = refl

with-at-it-does-not-wait :
  waits-of with-floor powers (0 ∷ 0 ∷ 0 ∷ []) (retry (stands (recovered unsaid)) always ask) ≡ []
with-at-it-does-not-wait = refl

if-the-function-says-where-it-ends-it-does-not-wait :
  waits-of with-floor powers (0 ∷ 0 ∷ 0 ∷ []) (retry (recovered said) always ask) ≡ []
if-the-function-says-where-it-ends-it-does-not-wait = refl


-- `J ≤ O` in the binds is for functions that only raise: they have any type, so Python's type of bind alone lets
-- one lead up. Such code passes type checkers. The library refuses it: a function whose annotation leads up when
-- it is bound, any other when a wait comes that is one too many.

the-type-of-bind-alone-would-climb :
  ¬ (∀ {I O J : ℕ} {A B : Set} → Program I O A → (A → Outcome (Program O J B)) → Program I J B)
the-type-of-bind-alone-would-climb bind′ = 1≰0 (no-program-goes-up (bind′ {J = 1} {B = ⊤} (at 0) λ _ → failed 0))
  where
    open import Walks one-command (setting with-floor powers 0) ends using (no-program-goes-up)
    1≰0 : ¬ 1 ≤ 0
    1≰0 ()
