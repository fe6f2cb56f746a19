{-# OPTIONS --safe #-}
-- What every run does, step by step: it issues commands, it counts tries, it waits one rung down, it
-- goes down. P1 and P2 follow from that. The one lemma is `walks`, by induction over programs; it holds
-- for any world, schedule and Retry-After, with or without a floor, on a ladder that ends or does not.

open import Calculus

module Walks (signature : Signature) (setting : Language.Setting signature)
             (ladder : Language.Ladder signature) where

open import Data.Bool using (true; false)
open import Data.List using (List; []; _∷_)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat
open import Data.Nat.Properties
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤)
open import Function using (id)
open import Relation.Nullary using (yes; no)
open import Relation.Binary.PropositionalEquality using (refl)

open Signature signature
open Language signature
open Setting setting
open Run setting ladder

private variable
  A B : Set
  I O J n m : ℕ

-- The seconds that somebody can have asked for.
data Asks : ℕ → Set where
  nobody      : Asks 0
  the-service : ∀ e → Asks (asked e)

-- From one state to another.
data _↝_ (s : State) : State → Set where
  stay  : s ↝ s
  issue : ∀ {w w′ f r t h c} → s ↝ state w f r t h → s ↝ state w′ f r t (issued c ∷ h)
  begin-a-try : ∀ {w f r t h} → s ↝ state w f r t h → s ↝ state w f r (suc t) h
  pause : ∀ {w w′ f r t h a} → s ↝ state w f (suc r) t h → Asks a →
    let seconds = pausing f (suc r) a in
    s ↝ state w′ seconds (below ladder (suc r)) t (waited (suc r) (top ∸ suc r) seconds ∷ h)
  lower : ∀ {w f r r′ t h} → s ↝ state w f r t h → r′ ≤ r → s ↝ state w f r′ t h

_then↝_ : ∀ {a b c} → a ↝ b → b ↝ c → a ↝ c
p then↝ stay          = p
p then↝ issue q       = issue (p then↝ q)
p then↝ begin-a-try q = begin-a-try (p then↝ q)
p then↝ pause q a     = pause (p then↝ q) a
p then↝ lower q l     = lower (p then↝ q) l

-- The rung below is below, and no more than one.
below-≤ : ∀ ladder r → below ladder (suc r) ≤ suc r
below-≤ ends          r       = n≤1+n r
below-≤ (forever _ _) zero    = s≤s z≤n
below-≤ (forever _ _) (suc r) = n≤1+n (suc r)

pred-≤-below : ∀ ladder r → pred r ≤ below ladder r
pred-≤-below ends          r = ≤-refl
pred-≤-below (forever _ _) r = m≤n⊔m 1 (pred r)

nothing-goes-up : ∀ {a b} → a ↝ b → rung b ≤ rung a
nothing-goes-up stay            = ≤-refl
nothing-goes-up (issue q)       = nothing-goes-up q
nothing-goes-up (begin-a-try q) = nothing-goes-up q
nothing-goes-up (pause {r = r} q _) = ≤-trans (below-≤ ladder r) (nothing-goes-up q)
nothing-goes-up (lower q l)     = ≤-trans l (nothing-goes-up q)

infixl 6 _then↝_
infix 3 _&_

-- A result that was walked to from `s`, where the run stands on n or above.
record Good (n : ℕ) (s : State) (r : Result A) : Set where
  constructor _&_
  field
    path  : s ↝ proj₂ r
    above : n ≤ rung (proj₂ r)
open Good public

-- What passing over a step does, from n or above to m or above.
Passes : ℕ → ℕ → (State → State) → Set
Passes n m pass = ∀ s → n ≤ rung s → s ↝ pass s × m ≤ rung (pass s)

from : ∀ {s s′} {r : Result A} → s ↝ s′ → Good n s′ r → Good n s r
from p (q & l) = (p then↝ q) & l

passed : ∀ {s s′} {r : Result A} → s ↝ s′ → s′ ↝ proj₂ r × m ≤ rung (proj₂ r) → Good m s r
passed p (q , l) = (p then↝ q) & l

still : ∀ {s : State} {r : Result A} {pass} → Good n s r → Passes n m pass → m ≤ rung (proj₂ r)
still {r = _ , s} (p & l) passes = ≤-trans (proj₂ (passes s l)) (nothing-goes-up (proj₁ (passes s l)))

well-good : ∀ {s pass} {act : A → State → Result B} (r : Result A) → Good n s r → Passes n m pass →
  (∀ a s′ → n ≤ rung s′ → Good m s′ (act a s′)) → Good m s (when-well r pass act)
well-good (well a   , s) (p & l) _ acts = from p (acts a s l)
well-good (failed e , s) (p & l) d acts = passed p (d s l)
well-good (over e   , s) g       d acts = path g & still g d

failed-good : ∀ {s pass on} {act : Failure → State → Result A} (r : Result A) → Good n s r → Passes n m pass →
  (∀ e s′ → n ≤ rung s′ → Good m s′ (act e s′)) → Good m s (when-failed r pass on act)
failed-good (well a , s) (p & l) d acts = passed p (d s l)
failed-good {on = on} (failed e , s) (p & l) d acts with on e
... | true  = from p (acts e s l)
... | false = passed p (d s l)
failed-good (over e , s) g d acts = path g & still g d

any-good : ∀ {s pass} (r : Result A) → Good n s r → Passes n m pass → Good m s (in-any-case r pass)
any-good (well a   , s) (p & l) d = passed p (d s l)
any-good (failed e , s) (p & l) d = passed p (d s l)
any-good (over e   , s) g       d = path g & still g d

pass-id : Passes n n id
pass-id s l = stay , l

pass-to : ∀ {b} → m ≤ b → b ≤ n → Passes n m (to b)
pass-to m≤b b≤n s l = lower stay (≤-trans b≤n l) , m≤b

pass-down : Passes (suc n) n down
pass-down {n} (state w f (suc r) t h) (s≤s l) =
  lower stay (below-≤ ladder r) , ≤-trans l (pred-≤-below ladder (suc r))

pass-left : ∀ exit → m ≤ n → Passes n m (left exit m)
pass-left said   l = pass-to ≤-refl l
pass-left unsaid l = λ s l′ → stay , ≤-trans l l′

perform-good : (x : Attempt A) (s : State) → n ≤ rung s → Good n s (perform x s)
perform-good (ended o)  s l = stay & l
perform-good (asks c k) (state w f r t h) l = from (issue stay) (perform-good (k _) _ l)

try-good : (x : Outcome (Attempt A)) (s : State) → n ≤ rung s → Good n s (try x s)
try-good (well x)   (state w f r t h) l = from (begin-a-try stay) (perform-good x _ l)
try-good (failed e) s l = stay & l
try-good (over e)   s l = stay & l

waiting-good : ∀ {a} {o : Outcome A} → Asks a → ∀ s → suc n ≤ rung s → Good n s (waiting a o s)
waiting-good who (state w f (suc r) t h) (s≤s l) =
  pause stay who & ≤-trans l (pred-≤-below ladder (suc r))

replay-good : (x : Attempt A) (log : Log) (s : State) → n ≤ rung s → Good n s (proj₁ (replay x log s))
replay-good (ended o)  log s l = stay & l
replay-good (asks c k) [] (state w f r t h) l = from (issue stay) (replay-good (k _) [] _ l)
replay-good (asks c k) ((d , o) ∷ log) s l with d same c
... | yes refl = replay-good (k o) log s l
... | no _     = perform-good (k _) s l

cut-good : ∀ {s} old (r : Result A × Maybe Log) → Good n s (proj₁ r) → Good n s (proj₁ (cut old r))
cut-good old ((well a   , s) , just _)  g = g
cut-good old ((failed e , s) , just _)  g = g
cut-good old ((over e   , s) , just _)  g = g
cut-good old ((well a   , s) , nothing) g = g
cut-good old ((failed e , s) , nothing) g = g
cut-good old ((over e   , s) , nothing) g = g

again-good : (x : Attempt A) (log : Log) (s : State) → n ≤ rung s → Good n s (proj₁ (again x log s))
again-good x log s@(state _ _ _ _ _) l =
  cut-good log (replay x log (one-try s)) (from (begin-a-try stay) (replay-good x log (one-try s) l))

-- The lowest rung on which a retry can stand that may still wait n times.
need : Ladder → ℕ → ℕ
need ends          n       = n
need (forever _ _) zero    = 0
need (forever _ _) (suc n) = 1

enough : ∀ ladder r → need ladder (rounds ladder r) ≤ r
enough ends                       r       = ≤-refl
enough (forever zero _)           zero    = z≤n
enough (forever (suc patience) _) zero    = z≤n
enough (forever zero _)           (suc r) = z≤n
enough (forever (suc patience) _) (suc r) = s≤s z≤n

one-is-left : ∀ ladder n r → need ladder (suc n) ≤ suc r → need ladder n ≤ below ladder (suc r)
one-is-left ends          n       r (s≤s l) = l
one-is-left (forever _ _) zero    r _       = z≤n
one-is-left (forever _ _) (suc n) r _       = m≤m⊔n 1 r

needs-one : ∀ ladder n → 1 ≤ need ladder (suc n)
needs-one ends          n = s≤s z≤n
needs-one (forever _ _) n = s≤s z≤n

waiting-leaves : ∀ {a} {o : Outcome A} n → Asks a → ∀ s → need ladder (suc n) ≤ rung s →
  Good (need ladder n) s (waiting a o s)
waiting-leaves n who (state w f zero t h) l with ≤-trans (needs-one ladder n) l
... | ()
waiting-leaves n who (state w f (suc r) t h) l = pause stay who & one-is-left ladder n r l

rest-good : ∀ {L : Set} {on} (attempt : L → State → Result A × L) →
  (∀ {n} l s → n ≤ rung s → Good n s (proj₁ (attempt l s))) →
  ∀ n {s} (r : Result A × L) → Good (need ladder n) s (proj₁ r) → Good 0 s (rest n on attempt r)
rest-good attempt good zero (r , l) g =
  failed-good r g (pass-to z≤n z≤n) λ e s′ _ → lower stay z≤n & z≤n
rest-good attempt good (suc n) (r , l) g =
  failed-good r g (pass-to z≤n z≤n) λ e s′ le →
  failed-good (waiting (asked e) (failed e) s′) (waiting-leaves n (the-service e) s′ le) (λ _ _ → stay , z≤n)
    λ _ s″ le′ → rest-good attempt good n (attempt l s″) (good l s″ le′)

tried-good : ∀ {on} (x : Trying A) s → Good 0 s (tried-on on x s)
tried-good (afresh x)  s = rest-good (fresh x) (λ _ s → try-good (x (rung s)) s) (rounds ladder (rung s))
  (fresh x _ s) (try-good (x (rung s)) s (enough ladder (rung s)))
tried-good (resumed x) s = rest-good (again x) (again-good x) (rounds ladder (rung s))
  (again x [] s) (again-good x [] s (enough ladder (rung s)))

-- `bound` lies between the indices. So O ≤ I: no program goes up, and a step `reset` cannot be typed.
between : (p : Program I O A) → O ≤ bound p × bound p ≤ I
between (at I)                  = ≤-refl , ≤-refl
between (then p f)              = between p
between (map p f)               = between p
between (or-else p on x)        = between p
between (bind said l p f)       = let a , b = between p in ≤-refl , ≤-trans l (≤-trans a b)
between (bind unsaid l p f)     = let a , b = between p in ≤-trans l a , b
between (or-bind said l p on f) = let a , b = between p in ≤-refl , ≤-trans l (≤-trans a b)
between (or-bind unsaid l p on f) = let a , b = between p in ≤-trans l a , b
between (p >> q)         = let a , b = between p ; c , d = between q in c , ≤-trans d (≤-trans a b)
between (or-join p on q) = let a , b = between p ; c , d = between q in c , ≤-trans d (≤-trans a b)
between (backoff p on)   = let a , b = between p in pred-mono a , ≤-trans pred[n]≤n b
between (wait p)         = let a , b = between p in pred-mono a , ≤-trans pred[n]≤n b
between (skip p)         = let a , b = between p in pred-mono a , ≤-trans pred[n]≤n b
between (tries p on x)   = z≤n , z≤n
between (end p)      = z≤n , z≤n
between (stands p)       = let a , b = between p in ≤-refl , ≤-trans a b

no-program-goes-up : Program I O A → O ≤ I
no-program-goes-up p = ≤-trans (proj₁ (between p)) (proj₂ (between p))

pass-bound : (q : Program O J B) → Passes O J (to (bound q))
pass-bound q = pass-to (proj₁ (between q)) (proj₂ (between q))

-- The lemma: from a rung that is high enough, a run of a program from I to O walks, and ends on O or
-- above. (Above it, if a bind was passed over and nothing tells where it would have ended.)
mutual
  walks : (p : Program I O A) (s : State) → I ≤ rung s → Good O s (eval p s)
  walks (at I) s l = lower stay l & ≤-refl
  walks (then p f) s l = well-good (eval p s) (walks p s l) pass-id λ a → try-good (f a)
  walks (map p f) s l = well-good (eval p s) (walks p s l) pass-id λ a s′ l′ → stay & l′
  walks (or-else p on x) s l = failed-good (eval p s) (walks p s l) pass-id λ _ → try-good (well x)
  walks (bind exit d p f) s l = well-good (eval p s) (walks p s l) (pass-left exit d) λ a s′ l′ →
    any-good (enter (f a) s′) (entered d (f a) s′ l′) (pass-left exit ≤-refl)
  walks (or-bind exit d p on f) s l = failed-good (eval p s) (walks p s l) (pass-left exit d) λ e s′ l′ →
    any-good (enter (f e) s′) (entered d (f e) s′ l′) (pass-left exit ≤-refl)
  walks (p >> q) s l = well-good (eval p s) (walks p s l) (pass-bound q) λ _ → walks q
  walks (or-join p on q) s l = failed-good (eval p s) (walks p s l) (pass-bound q) λ _ → walks q
  walks (backoff p on) s l =
    failed-good (eval p s) (walks p s l) pass-down λ e → waiting-good (the-service e)
  walks (wait p) s l = well-good (eval p s) (walks p s l) pass-down λ a → waiting-good nobody
  walks (skip p) s l = any-good (eval p s) (walks p s l) pass-down
  walks (tries p on x) s l =
    well-good (eval p s) (walks p s l) (pass-to z≤n z≤n) λ _ s′ _ → tried-good x s′
  walks (end p) s l = any-good (eval p s) (walks p s l) (pass-to z≤n z≤n)
  walks (stands p) s l = any-good (eval p s) (walks p s l) (pass-to ≤-refl ≤-refl)

  entered : J ≤ O → (q : Outcome (Program O J A)) (s : State) → O ≤ rung s → Good J s (enter q s)
  entered d (well q)   s l = walks q s l
  entered d (failed e) s l = stay & ≤-trans d l
  entered d (over e)   s l = stay & ≤-trans d l

-- The walk of a whole run.
the-walk : (p : Program top O A) (w : World) → Good O (begin w) (run p w)
the-walk p w = walks p (begin w) ≤-refl
