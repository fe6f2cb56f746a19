{-# OPTIONS --safe #-}
-- FOREVER: a ladder without end. P1, P4 and the laws hold there as on other ladders; P2 does not, since its
-- waits have no bound. Its waits are those of the deepest ladder, and then the last of these again and again.

open import Calculus
open import Data.Nat using (ℕ; _<_)

module Forever (signature : Signature) (setting : Language.Setting signature)
               (patience : ℕ) (ended-by : Signature.Failure signature)
               (some : 0 < Language.Setting.top setting) where

open import Data.Bool using (true; false)
open import Data.List using (List; []; _∷_; length)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat
open import Data.Nat.Properties
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Relation.Nullary using (yes; no)
open import Relation.Binary.PropositionalEquality

open Signature signature
open Language signature
open Setting setting
open Run setting (forever patience ended-by)

private variable
  A B : Set

-- The number of each wait is how many there were before, up to that of the last wait of the deepest ladder.
-- (`top` is 20 for FOREVER.)
AsOnTheDeepest : List Event → Set
AsOnTheDeepest []                 = ⊤
AsOnTheDeepest (issued c ∷ h)     = AsOnTheDeepest h
AsOnTheDeepest (waited r k s ∷ h) = k ≡ length (waits h) ⊓ pred top × AsOnTheDeepest h

-- The proof: the run stands as many rungs below the top as it has waited, but on 1 at least.
Stands : ℕ → State → Set
Stands n s = length (waits (history s)) ≡ n × rung s ≡ 1 ⊔ (top ∸ n) × AsOnTheDeepest (history s)

number : ∀ n → top ∸ (1 ⊔ (top ∸ n)) ≡ n ⊓ pred top
number n = begin-equality
    top ∸ (1 ⊔ (top ∸ n))         ≡⟨ ∸-distribˡ-⊔-⊓ top 1 (top ∸ n) ⟩
    (top ∸ 1) ⊓ (top ∸ (top ∸ n)) ≡⟨ least (n ≤? top) ⟩
    pred top ⊓ n                  ≡⟨ ⊓-comm (pred top) n ⟩
    n ⊓ pred top                  ∎
  where
    open ≤-Reasoning
    open import Relation.Nullary using (Dec)
    top-1 : top ∸ 1 ≡ pred top
    top-1 = sym (pred[m∸n]≡m∸[1+n] top 0)
    least : Dec (n ≤ top) → (top ∸ 1) ⊓ (top ∸ (top ∸ n)) ≡ pred top ⊓ n
    least (yes l) = cong₂ _⊓_ top-1 (m∸[m∸n]≡n l)
    least (no ¬l) = trans (cong₂ _⊓_ top-1 (cong (top ∸_) (m≤n⇒m∸n≡0 (<⇒≤ (≰⇒> ¬l)))))
      (trans (m≤n⇒m⊓n≡m (pred[n]≤n {top})) (sym (m≤n⇒m⊓n≡m (≤-trans (pred[n]≤n {top}) (<⇒≤ (≰⇒> ¬l))))))

one-below : ∀ n → 1 ⊔ pred (1 ⊔ (top ∸ n)) ≡ 1 ⊔ (top ∸ suc n)
one-below n rewrite sym (pred[m∸n]≡m∸[1+n] top n) with top ∸ n
... | zero  = refl
... | suc m = refl

stands-after-a-wait : ∀ {n} a (o : Outcome A) s → Stands n s → Stands (suc n) (proj₂ (waiting a o s))
stands-after-a-wait {n = n} a o (state w f _ t h) (refl , refl , below) =
  refl , one-below (length (waits h)) , number (length (waits h)) , below

perform-stands : ∀ {n} (x : Attempt A) s → Stands n s → Stands n (proj₂ (perform x s))
perform-stands (ended o)  s p = p
perform-stands (asks c k) (state w f r t h) p = perform-stands (k _) _ p

try-stands : ∀ {n} (x : Outcome (Attempt A)) s → Stands n s → Stands n (proj₂ (try x s))
try-stands (well x)   s p = perform-stands x (one-try s) p
try-stands (failed e) s p = p
try-stands (over e)   s p = p

replay-stands : ∀ {n} (x : Attempt A) log s → Stands n s → Stands n (proj₂ (proj₁ (replay x log s)))
replay-stands (ended o)  log s p = p
replay-stands (asks c k) [] (state w f r t h) p = replay-stands (k _) [] _ p
replay-stands (asks c k) ((d , o) ∷ log) s p with d same c
... | yes refl = replay-stands (k o) log s p
... | no _     = perform-stands (k _) s p

again-stands : ∀ {n} (x : Attempt A) log s → Stands n s → Stands n (proj₂ (proj₁ (again x log s)))
again-stands x log s p with replay x log (one-try s) | replay-stands x log (one-try s) p
... | (well a   , _) , just _  | q = q
... | (failed e , _) , just _  | q = q
... | (over e   , _) , just _  | q = q
... | (well a   , _) , nothing | q = q
... | (failed e , _) , nothing | q = q
... | (over e   , _) , nothing | q = q

rest-waits : ∀ {L : Set} {on m} (attempt : L → State → Result A × L) →
  (∀ {n} l s → Stands n s → Stands n (proj₂ (proj₁ (attempt l s)))) →
  ∀ n r → Stands m (proj₂ (proj₁ r)) → AsOnTheDeepest (history (proj₂ (rest n on attempt r)))
rest-waits attempt keeps zero ((well a , s) , l) (_ , _ , p) = p
rest-waits attempt keeps zero ((over e , s) , l) (_ , _ , p) = p
rest-waits {on = on} attempt keeps zero ((failed e , s) , l) (_ , _ , p) with on e
... | true  = p
... | false = p
rest-waits attempt keeps (suc n) ((well a , s) , l) (_ , _ , p) = p
rest-waits attempt keeps (suc n) ((over e , s) , l) (_ , _ , p) = p
rest-waits {A = A} {on = on} attempt keeps (suc n) ((failed e , s) , l) p with on e
... | false = proj₂ (proj₂ p)
... | true  = after-a-wait (waiting (asked e) (failed {A = A} e) s) (stands-after-a-wait (asked e) (failed {A = A} e) s p)
  where
    after-a-wait : ∀ {m} (r : Result A) → Stands m (proj₂ r) →
      AsOnTheDeepest (history (proj₂ (when-failed r (λ s → s) (λ _ → true) λ _ s′ → rest n on attempt (attempt l s′))))
    after-a-wait (well a   , s′) q = proj₂ (proj₂ q)
    after-a-wait (over e   , s′) q = proj₂ (proj₂ q)
    after-a-wait (failed e , s′) q = rest-waits attempt keeps n (attempt l s′) (keeps l s′ q)

-- THE THEOREM. For every patience: so at whatever moment the run is looked at.
a-retry-at-FOREVER-waits-as-the-deepest-ladder-and-then-as-its-last-rung : ∀ on (x : Trying A) (w : World) →
  AsOnTheDeepest (done (tries (at top) on x) w)
a-retry-at-FOREVER-waits-as-the-deepest-ladder-and-then-as-its-last-rung on x w = go x
  where
    start : Stands 0 (begin w)
    start = refl , sym (m≤n⇒m⊔n≡n some) , tt
    go : ∀ x → AsOnTheDeepest (done (tries (at top) on x) w)
    go (afresh x)  = rest-waits (fresh x) (λ _ s → try-stands (x (rung s)) s) (rounds (forever patience ended-by) top)
      (fresh x _ (begin w)) (try-stands (x top) (begin w) start)
    go (resumed x) = rest-waits (again x) (again-stands x) (rounds (forever patience ended-by) top)
      (again x [] (begin w)) (again-stands x [] (begin w) start)
