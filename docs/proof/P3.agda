{-# OPTIONS --safe #-}
-- P3: retries never multiply. A retry tries an attempt, and no attempt has waits or tries of its own; so
-- a retry with N rungs left tries at most N + 1 times, and asks at most N + 1 times what its effect asks.

open import Calculus

module P3 (signature : Signature) (setting : Language.Setting signature) where

open import Data.Bool using (true; false)
open import Data.List using (List; []; _∷_)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat
open import Data.Nat.Properties
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Relation.Nullary using (yes; no)
open import Relation.Binary.PropositionalEquality

open Signature signature
open Language signature
open Setting setting
open Run setting ends

private variable
  A B : Set
  n m c : ℕ

-- What is tried neither waits nor moves nor tries: there is no retry in a retry.
Quiet : State → State → Set
Quiet s s′ = waits (history s′) ≡ waits (history s) × floor s′ ≡ floor s × rung s′ ≡ rung s × tried s′ ≡ tried s

an-attempt-neither-waits-nor-tries : (x : Attempt A) (s : State) → Quiet s (proj₂ (perform x s))
an-attempt-neither-waits-nor-tries (ended o)  s = refl , refl , refl , refl
an-attempt-neither-waits-nor-tries (asks c k) (state w f r t h) = an-attempt-neither-waits-nor-tries (k _) _

-- An attempt that asks at most n commands, whatever it is answered.
data AtMost {A : Set} : ℕ → Attempt A → Set where
  ended : ∀ {o} → AtMost n (ended o)
  asks  : ∀ {c k} → (∀ o → AtMost n (k o)) → AtMost (suc n) (asks c k)

data AtMostᵒ {A : Set} (n : ℕ) : Outcome (Attempt A) → Set where
  well   : ∀ {x} → AtMost n x → AtMostᵒ n (well x)
  failed : ∀ {e} → AtMostᵒ n (failed e)
  over   : ∀ {e} → AtMostᵒ n (over e)

data TriesAtMost {A : Set} (n : ℕ) : Trying A → Set where
  afresh  : ∀ {x} → (∀ rung → AtMostᵒ n (x rung)) → TriesAtMost n (afresh x)
  resumed : ∀ {x} → AtMost n x → TriesAtMost n (resumed x)

-- How many tries, and how many commands, there have been.
measured : (State → ℕ) → Result A → ℕ
measured count (_ , s) = count s

commands : State → ℕ
commands s = issues (history s)

-- The proof, for either count: if one try adds at most c, N waits and N + 1 tries add at most (N + 1) c.
Unmoved : (State → ℕ) → Set₁
Unmoved count = (∀ n s → count (to n s) ≡ count s)
  × (∀ {A} a (o : Outcome A) s → count (proj₂ (waiting a o s)) ≡ count s)

once-more : ∀ n c {a b i} → a ≤ n * c + b → b ≤ c + i → a ≤ suc n * c + i
once-more n c {i = i} l l′ = ≤-trans l (≤-trans (+-monoʳ-≤ (n * c) l′)
  (≤-reflexive (trans (sym (+-assoc (n * c) c i)) (cong (_+ i) (+-comm (n * c) c)))))

module _ {A L : Set} {on : On} {c : ℕ} (count : State → ℕ) (unmoved : Unmoved count)
         (attempt : L → State → Result A × L)
         (few : ∀ l s → measured count (proj₁ (attempt l s)) ≤ c + count s) where

  still : ∀ n {i s} → count s ≤ i → count (to 0 s) ≤ n + i
  still n {s = s} l = ≤-trans (≤-reflexive (proj₁ unmoved 0 s)) (≤-trans l (m≤n+m _ n))

  rest-adds : ∀ n r → measured count (rest n on attempt r) ≤ n * c + measured count (proj₁ r)
  rest-adds zero ((well a , s) , l) = still 0 ≤-refl
  rest-adds zero ((over e , s) , l) = ≤-refl
  rest-adds zero ((failed e , s) , l) with on e
  ... | true  = still 0 ≤-refl
  ... | false = still 0 ≤-refl
  rest-adds (suc n) ((well a , s) , l) = still (suc n * c) ≤-refl
  rest-adds (suc n) ((over e , s) , l) = m≤n+m _ _
  rest-adds (suc n) ((failed e , s) , l) with on e
  ... | false = still (suc n * c) ≤-refl
  ... | true  = after-a-wait (waiting (asked e) (failed {A = A} e) s)
    (≤-reflexive (proj₂ unmoved (asked e) (failed {A = A} e) s))
    where
      after-a-wait : ∀ {i} (r : Result A) → measured count r ≤ i →
        measured count (when-failed r (λ s → s) (λ _ → true) λ _ s′ → rest n on attempt (attempt l s′)) ≤ suc n * c + i
      after-a-wait (well a   , s′) l′ = ≤-trans l′ (m≤n+m _ (suc n * c))
      after-a-wait (over e   , s′) l′ = ≤-trans l′ (m≤n+m _ (suc n * c))
      after-a-wait (failed e , s′) l′ =
        once-more n c (rest-adds n (attempt l s′)) (≤-trans (few l s′) (+-monoʳ-≤ c l′))

  loop-adds : ∀ n l s → measured count (loop n on attempt l s) ≤ suc n * c + count s
  loop-adds n l s = once-more n c (rest-adds n (attempt l s)) (few l s)

tries-unmoved : Unmoved tried
tries-unmoved = (λ n s → refl) , λ a o s → refl

commands-unmoved : Unmoved commands
commands-unmoved = (λ n s → refl) , λ a o s → refl

perform-asks : {x : Attempt A} → AtMost n x → ∀ s → commands (proj₂ (perform x s)) ≤ n + commands s
perform-asks ended s = m≤n+m _ _
perform-asks (asks k) (state w f r t h) = ≤-trans (perform-asks (k _) _) (≤-reflexive (+-suc _ (issues h)))

try-asks : {x : Outcome (Attempt A)} → AtMostᵒ n x → ∀ s → commands (proj₂ (try x s)) ≤ n + commands s
try-asks (well x) s = perform-asks x (one-try s)
try-asks failed   s = m≤n+m _ _
try-asks over     s = m≤n+m _ _

one-try-at-most : (x : Outcome (Attempt A)) → ∀ s → tried (proj₂ (try x s)) ≤ 1 + tried s
one-try-at-most (well x)   s = ≤-reflexive (proj₂ (proj₂ (proj₂ (an-attempt-neither-waits-nor-tries x (one-try s)))))
one-try-at-most (failed e) s = n≤1+n _
one-try-at-most (over e)   s = n≤1+n _

replay-asks : {x : Attempt A} → AtMost n x → ∀ log s → commands (proj₂ (proj₁ (replay x log s))) ≤ n + commands s
replay-asks ended log s = m≤n+m _ _
replay-asks (asks k) [] (state w f r t h) = ≤-trans (replay-asks (k _) [] _) (≤-reflexive (+-suc _ (issues h)))
replay-asks (asks {c = c} k) ((d , o) ∷ log) s with d same c
... | yes refl = ≤-trans (replay-asks (k o) log s) (n≤1+n _)
... | no _     = ≤-trans (perform-asks (k _) s) (n≤1+n _)

replay-tries : (x : Attempt A) → ∀ log s → tried (proj₂ (proj₁ (replay x log s))) ≡ tried s
replay-tries (ended o) log s = refl
replay-tries (asks c k) [] (state w f r t h) = replay-tries (k _) [] _
replay-tries (asks c k) ((d , o) ∷ log) s with d same c
... | yes refl = replay-tries (k o) log s
... | no _     = proj₂ (proj₂ (proj₂ (an-attempt-neither-waits-nor-tries (k (over diverged)) s)))

cut-state : ∀ old (r : Result A × Maybe Log) → proj₂ (proj₁ (cut old r)) ≡ proj₂ (proj₁ r)
cut-state old ((well a   , s) , just log) = refl
cut-state old ((failed e , s) , just log) = refl
cut-state old ((over e   , s) , just log) = refl
cut-state old ((well a   , s) , nothing)  = refl
cut-state old ((failed e , s) , nothing)  = refl
cut-state old ((over e   , s) , nothing)  = refl

again-tries : (x : Attempt A) → ∀ log s → tried (proj₂ (proj₁ (again x log s))) ≤ 1 + tried s
again-tries x log s = ≤-reflexive
  (trans (cong tried (cut-state log (replay x log (one-try s)))) (replay-tries x log (one-try s)))

again-asks : {x : Attempt A} → AtMost n x → ∀ log s → commands (proj₂ (proj₁ (again x log s))) ≤ n + commands s
again-asks {x = x} few log s = ≤-trans
  (≤-reflexive (cong commands (cut-state log (replay x log (one-try s))))) (replay-asks few log (one-try s))

-- From wherever the run stands: as often as there are rungs left, and once more.
tried-on-tries : ∀ on (x : Trying A) s → tried (proj₂ (tried-on on x s)) ≤ suc (rung s) + tried s
tried-on-tries on (afresh x) s = ≤-trans
  (loop-adds tried tries-unmoved (fresh x) (λ _ s → one-try-at-most (x (rung s)) s) (rung s) _ s)
  (≤-reflexive (cong (_+ tried s) (*-identityʳ (suc (rung s)))))
tried-on-tries on (resumed x) s = ≤-trans
  (loop-adds tried tries-unmoved (again x) (again-tries x) (rung s) [] s)
  (≤-reflexive (cong (_+ tried s) (*-identityʳ (suc (rung s)))))

-- THE THEOREMS. `tries (at N)` is at(N).retry(x), .retry_with(f) or .resume(x).
a-retry-on-N-rungs-tries-at-most-N+1-times : ∀ N on (x : Trying A) s →
  tried (proj₂ (eval (tries (at N) on x) s)) ≤ suc N + tried s
a-retry-on-N-rungs-tries-at-most-N+1-times N on x s = tried-on-tries on x (to N s)

a-retry-on-N-rungs-asks-at-most-N+1-times-what-its-effect-asks : ∀ N on (x : Trying A) → TriesAtMost c x →
  ∀ s → commands (proj₂ (eval (tries (at N) on x) s)) ≤ suc N * c + commands s
a-retry-on-N-rungs-asks-at-most-N+1-times-what-its-effect-asks N on (afresh x) (afresh few) s =
  loop-adds commands commands-unmoved (fresh x) (λ _ s → try-asks (few (rung s)) s) N _ (to N s)
a-retry-on-N-rungs-asks-at-most-N+1-times-what-its-effect-asks N on (resumed x) (resumed few) s =
  loop-adds commands commands-unmoved (again x) (again-asks few) N [] (to N s)

a-retry-on-N-rungs-issues-its-command-at-most-N+1-times : ∀ N on (c : Command) s →
  commands (proj₂ (eval (retry (at N) on (command c)) s)) ≤ suc N + commands s
a-retry-on-N-rungs-issues-its-command-at-most-N+1-times N on c s = ≤-trans
  (a-retry-on-N-rungs-asks-at-most-N+1-times-what-its-effect-asks N on (afresh λ _ → well (command c))
    (afresh λ _ → well (asks λ _ → ended)) s)
  (≤-reflexive (cong (_+ commands s) (*-identityʳ (suc N))))
