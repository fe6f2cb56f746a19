{-# OPTIONS --safe #-}
-- Where a run stands: after a program from I to O exactly on O, unless the last thing that could tell was a
-- bind by a function that does not say where its program ends.

open import Calculus

module Rungs (signature : Signature) (setting : Language.Setting signature) where

open import Data.Bool using (true; false)
open import Data.Empty using (⊥)
open import Data.List using (List; []; _∷_)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Function using (id)
open import Relation.Binary.PropositionalEquality

open Signature signature
open Language signature
open Setting setting
open Run setting ends
open import P3 signature setting using (an-attempt-neither-waits-nor-tries)

private variable
  A B : Set
  I O J n m : ℕ

-- Python's `program.ends_at is not None`: it is known before the run where it ends.
Sure : Program I O A → Set
Sure (at I)                  = ⊤
Sure (then p f)              = Sure p
Sure (map p f)               = Sure p
Sure (or-else p on x)        = Sure p
Sure (bind said _ p f)       = ⊤
Sure (bind unsaid _ p f)     = ⊥
Sure (or-bind said _ p on f)   = ⊤
Sure (or-bind unsaid _ p on f) = ⊥
Sure (p >> q)                = Sure q
Sure (or-join p on q)        = Sure q
Sure (backoff p on)          = Sure p
Sure (wait p)                = Sure p
Sure (skip p)                = Sure p
Sure (tries p on x)          = ⊤
Sure (end p)             = ⊤
Sure (stands p)              = ⊤

bound-is-the-index : (p : Program I O A) → Sure p → bound p ≡ O
bound-is-the-index (at I)                  _ = refl
bound-is-the-index (then p f)              k = bound-is-the-index p k
bound-is-the-index (map p f)               k = bound-is-the-index p k
bound-is-the-index (or-else p on x)        k = bound-is-the-index p k
bound-is-the-index (bind said _ p f)       _ = refl
bound-is-the-index (or-bind said _ p on f) _ = refl
bound-is-the-index (p >> q)                k = bound-is-the-index q k
bound-is-the-index (or-join p on q)        k = bound-is-the-index q k
bound-is-the-index (backoff p on)          k = cong pred (bound-is-the-index p k)
bound-is-the-index (wait p)                k = cong pred (bound-is-the-index p k)
bound-is-the-index (skip p)                k = cong pred (bound-is-the-index p k)
bound-is-the-index (tries p on x)          _ = refl
bound-is-the-index (end p)             _ = refl
bound-is-the-index (stands p)              _ = refl

-- The run stands on n, unless it is over.
StandsOn : ℕ → Result A → Set
StandsOn n (over _ , s) = ⊤
StandsOn n (_ , s)      = rung s ≡ n

well-stands : ∀ {pass} {act : A → State → Result B} r → StandsOn n r →
  (∀ s → rung s ≡ n → rung (pass s) ≡ m) → (∀ a s → rung s ≡ n → StandsOn m (act a s)) →
  StandsOn m (when-well r pass act)
well-stands (well a   , s) e d acts = acts a s e
well-stands (failed _ , s) e d acts = d s e
well-stands (over _   , s) e d acts = tt

failed-stands : ∀ {pass on} {act : Failure → State → Result A} r → StandsOn n r →
  (∀ s → rung s ≡ n → rung (pass s) ≡ m) → (∀ e s → rung s ≡ n → StandsOn m (act e s)) →
  StandsOn m (when-failed r pass on act)
failed-stands (well a , s) e d acts = d s e
failed-stands (over _ , s) e d acts = tt
failed-stands {on = on} (failed x , s) e d acts with on x
... | true  = acts x s e
... | false = d s e

-- Wherever the run stood before: what passes over leads to m, and so does what acts.
wherever-well : ∀ {pass} {act : A → State → Result B} r →
  (∀ s → rung (pass s) ≡ m) → (∀ a s → StandsOn m (act a s)) → StandsOn m (when-well r pass act)
wherever-well (well a   , s) d acts = acts a s
wherever-well (failed _ , s) d acts = d s
wherever-well (over _   , s) d acts = tt

wherever-failed : ∀ {pass on} {act : Failure → State → Result A} r →
  (∀ s → rung (pass s) ≡ m) → (∀ e s → StandsOn m (act e s)) → StandsOn m (when-failed r pass on act)
wherever-failed (well a , s) d acts = d s
wherever-failed (over _ , s) d acts = tt
wherever-failed {on = on} (failed x , s) d acts with on x
... | true  = acts x s
... | false = d s

any-stands : ∀ {pass} (r : Result A) → StandsOn n r → (∀ s → rung s ≡ n → rung (pass s) ≡ m) →
  StandsOn m (in-any-case r pass)
any-stands (well _   , s) e d = d s e
any-stands (failed _ , s) e d = d s e
any-stands (over _   , s) e d = tt

led : ∀ {pass} (r : Result A) → (∀ s → rung (pass s) ≡ m) → StandsOn m (in-any-case r pass)
led (well _   , s) d = d s
led (failed _ , s) d = d s
led (over _   , s) d = tt

perform-stands : (x : Attempt A) (s : State) → rung s ≡ n → StandsOn n (perform x s)
perform-stands x s e with perform x s | an-attempt-neither-waits-nor-tries x s
... | well _   , _ | _ , _ , here , _ = trans here e
... | failed _ , _ | _ , _ , here , _ = trans here e
... | over _   , _ | _                = tt

try-stands : (x : Outcome (Attempt A)) (s : State) → rung s ≡ n → StandsOn n (try x s)
try-stands (well x)   s e = perform-stands x (one-try s) e
try-stands (failed _) s e = e
try-stands (over _)   s e = tt

waiting-stands : ∀ a (o : Outcome A) s → rung s ≡ suc n → StandsOn n (waiting a o s)
waiting-stands {n = n} a o (state w f .(suc n) t h) refl
  with unless (proj₁ (sleep (pausing f (suc n) a) w)) o
... | well _   = refl
... | failed _ = refl
... | over _   = tt

mapped : (f : A → Outcome B) → ∀ a (s : State) → rung s ≡ n → StandsOn n (f a , s)
mapped f a s e with f a
... | well _   = e
... | failed _ = e
... | over _   = tt

rest-stands : ∀ {L : Set} {on} (attempt : L → State → Result A × L) n r → StandsOn 0 (rest n on attempt r)
rest-stands attempt zero    (r , l) = wherever-failed r (λ _ → refl) λ e s → refl
rest-stands {A = A} {on = on} attempt (suc n) (r , l) = wherever-failed r (λ _ → refl) λ e s →
  after-a-wait (waiting (asked e) (failed e) s) (unwell _ e s)
  where
    NotWell : Result A → Set
    NotWell (well _ , s) = ⊥
    NotWell (_ , s)      = ⊤
    unwell : ∀ a e s → NotWell (waiting a (failed e) s)
    unwell a e (state w f r t h) with proj₁ (sleep (pausing f r a) w)
    ... | nothing = tt
    ... | just _  = tt
    after-a-wait : ∀ r → NotWell r →
      StandsOn 0 (when-failed r id (λ _ → true) λ _ s′ → rest n on attempt (attempt l s′))
    after-a-wait (failed _ , s) _ = rest-stands attempt n (attempt l s)
    after-a-wait (over _ , s)   _ = tt

tried-stands : ∀ {on} (x : Trying A) s → StandsOn 0 (tried-on on x s)
tried-stands (afresh x)  s = rest-stands (fresh x) (rung s) (fresh x tt s)
tried-stands (resumed x) s = rest-stands (again x) (rung s) (again x [] s)

-- THE THEOREM
a-run-stands-where-its-program-is-known-to-end : (p : Program I O A) → Sure p → ∀ s → StandsOn O (eval p s)
a-run-stands-where-its-program-is-known-to-end = go
  where
    go : (p : Program I O A) → Sure p → ∀ s → StandsOn O (eval p s)
    go (at I)           _ s = refl
    go (then p f)       k s = well-stands (eval p s) (go p k s) (λ _ e → e) λ a → try-stands (f a)
    go (map p f)        k s = well-stands (eval p s) (go p k s) (λ _ e → e) (mapped f)
    go (or-else p on x) k s = failed-stands (eval p s) (go p k s) (λ _ e → e) λ _ → try-stands (well x)
    go (bind said _ p f)       _ s = wherever-well (eval p s) (λ _ → refl) λ a s′ → led (enter (f a) s′) λ _ → refl
    go (or-bind said _ p on f) _ s = wherever-failed (eval p s) (λ _ → refl) λ e s′ → led (enter (f e) s′) λ _ → refl
    go (p >> q)         k s = wherever-well (eval p s) (λ _ → bound-is-the-index q k) λ _ → go q k
    go (or-join p on q) k s = wherever-failed (eval p s) (λ _ → bound-is-the-index q k) λ _ → go q k
    go (backoff p on)   k s =
      failed-stands (eval p s) (go p k s) (λ _ → cong pred) λ e → waiting-stands (asked e) (failed e)
    go (wait p)         k s = well-stands (eval p s) (go p k s) (λ _ → cong pred) λ a → waiting-stands 0 (well a)
    go (skip p)         k s = any-stands (eval p s) (go p k s) λ _ → cong pred
    go (tries p on x)   _ s = wherever-well (eval p s) (λ _ → refl) λ _ → tried-stands x
    go (end p)      _ s = led (eval p s) λ _ → refl
    go (stands p)       _ s = led (eval p s) λ _ → refl

-- Each program begins on its first index, wherever the run stood before (Run.entered).
it-starts-at-its-index : (p : Program I O A) → ∀ s → eval p s ≡ eval p (to I s)
it-starts-at-its-index (at I)               s = refl
it-starts-at-its-index (then p f)           s = cong (λ r → when-well r _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (map p f)            s = cong (λ r → when-well r _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (or-else p on x)     s = cong (λ r → when-failed r _ _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (bind _ _ p f)       s = cong (λ r → when-well r _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (or-bind _ _ p on f) s = cong (λ r → when-failed r _ _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (p >> q)             s = cong (λ r → when-well r _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (or-join p on q)     s = cong (λ r → when-failed r _ _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (backoff p on)       s = cong (λ r → when-failed r _ _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (wait p)             s = cong (λ r → when-well r _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (skip p)             s = cong (λ r → in-any-case r _) (it-starts-at-its-index p s)
it-starts-at-its-index (tries p on x)       s = cong (λ r → when-well r _ _) (it-starts-at-its-index p s)
it-starts-at-its-index (end p)          s = cong (λ r → in-any-case r _) (it-starts-at-its-index p s)
it-starts-at-its-index (stands p)           s = cong (λ r → in-any-case r _) (it-starts-at-its-index p s)
