{-# OPTIONS --safe #-}
-- A resume is a retry, each try of which performs only what is left of the attempt: what was answered is not
-- asked again. Nothing diverges, since between its commands an attempt here only computes.

open import Calculus

module Resume (signature : Signature) (setting : Language.Setting signature) (ladder : Language.Ladder signature) where

open import Data.Bool using (true; false)
open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; take)
open import Data.Maybe using (Maybe; just; nothing)
import Data.Maybe as Maybe
open import Data.Nat using (ℕ; zero; suc)
open import Data.Product using (Σ; _×_; _,_; proj₁; proj₂)
open import Function using (id)
open import Relation.Nullary using (yes; no)
open import Relation.Binary.PropositionalEquality

open Signature signature
open Language signature
open Setting setting
open Run setting ladder

private variable
  A : Set

-- `Left x log y`: if x is answered as the log says, y is left of it.
data Left {A : Set} : Attempt A → Log → Attempt A → Set where
  all   : ∀ {x} → Left x [] x
  after : ∀ {c k o log y} → Left (k o) log y → Left (asks c k) ((c , o) ∷ log) y

-- What a replay comes to is what performing the rest comes to, and there is again a log that fits.
replay-goes-on : ∀ {x y : Attempt A} {log} → Left x log y → ∀ s → proj₁ (replay x log s) ≡ perform y s
replay-goes-on {x = ended o}  all s = refl
replay-goes-on {x = asks c k} all (state w _ r t h) = replay-goes-on {x = k _} all _
replay-goes-on (after {c = c} left) s with c same c
... | yes refl = replay-goes-on left s
... | no never = ⊥-elim (never refl)

record Fits (x : Attempt A) (log : Maybe Log) : Set where
  constructor fits
  field
    {kept} : Log
    is     : log ≡ just kept
    {rest′} : Attempt A
    left-of : Left x kept rest′

replay-fits : ∀ {x y : Attempt A} {log} → Left x log y → ∀ s → Fits x (proj₂ (replay x log s))
replay-fits {x = ended o}  all s = fits refl all
replay-fits {x = asks c k} all (state w f r t h)
  with proj₂ (replay (k (proj₁ (answer c w))) [] (state (proj₂ (answer c w)) f r t (issued c ∷ h)))
     | replay-fits {x = k (proj₁ (answer c w))} all (state (proj₂ (answer c w)) f r t (issued c ∷ h))
... | just log | fits refl left = fits refl (after left)
replay-fits (after {c = c} {k} {o} {log} left) s with c same c
... | no never = ⊥-elim (never refl)
... | yes refl with proj₂ (replay (k o) log s) | replay-fits left s
...   | just log′ | fits refl left′ = fits refl (after left′)

take-leaves : ∀ {x y : Attempt A} {log} n → Left x log y → Σ (Attempt A) (Left x (take n log))
take-leaves zero    left         = _ , all
take-leaves (suc n) all          = _ , all
take-leaves (suc n) (after left) = _ , after (proj₂ (take-leaves n left))

cut-leaves : ∀ {x : Attempt A} old (r : Result A × Maybe Log) → Fits x (proj₂ r) →
  Σ (Attempt A) (Left x (proj₂ (cut old r)))
cut-leaves old ((well _ , _)   , just log) (fits refl left) = _ , left
cut-leaves old ((failed e , _) , just log) (fits refl left) = take-leaves (place log e) left
cut-leaves old ((over _ , _)   , just log) (fits refl left) = _ , left

cut-result : ∀ old (r : Result A × Maybe Log) → proj₁ (cut old r) ≡ proj₁ r
cut-result old ((well _ , _)   , just _)  = refl
cut-result old ((failed _ , _) , just _)  = refl
cut-result old ((over _ , _)   , just _)  = refl
cut-result old ((well _ , _)   , nothing) = refl
cut-result old ((failed _ , _) , nothing) = refl
cut-result old ((over _ , _)   , nothing) = refl

-- THE THEOREMS
a-resumed-try-asks-only-for-the-rest : ∀ {x y : Attempt A} {log} → Left x log y → ∀ s →
  proj₁ (again x log s) ≡ perform y (one-try s)
a-resumed-try-asks-only-for-the-rest {x = x} {log = log} left s =
  trans (cut-result log (replay x log (one-try s))) (replay-goes-on left (one-try s))

-- A retry of what is left, from where the log was cut: nothing is compared with a log.
WhatIsLeft : Attempt A → Set
WhatIsLeft {A = A} x = Σ Log λ log → Σ (Attempt A) (Left x log)

going-on : (x : Attempt A) → WhatIsLeft x → State → Result A × WhatIsLeft x
going-on x (log , y , left) s =
  perform y (one-try s) ,
  proj₂ (again x log s) , cut-leaves log (replay x log (one-try s)) (replay-fits left (one-try s))

a-resume-is-a-retry-of-what-is-left : ∀ on (x : Attempt A) s →
  tried-on on (resumed x) s ≡ loop (rounds ladder (rung s)) on (going-on x) ([] , x , all) s
a-resume-is-a-retry-of-what-is-left {A = A} on x s = next (rounds ladder (rung s)) ([] , x , all) s
  where
    go : ∀ n (r : Result A) (l : WhatIsLeft x) → rest n on (again x) (r , proj₁ l) ≡ rest n on (going-on x) (r , l)
    next : ∀ n (l : WhatIsLeft x) s → rest n on (again x) (again x (proj₁ l) s) ≡ rest n on (going-on x) (going-on x l s)
    next n l@(log , y , left) s = trans (go n (proj₁ (again x log s)) (proj₂ (going-on x l s)))
      (cong (λ r → rest n on (going-on x) (r , proj₂ (going-on x l s))) (a-resumed-try-asks-only-for-the-rest left s))
    after-a-wait : ∀ n (r : Result A) (l : WhatIsLeft x) →
      when-failed r id (λ _ → true) (λ _ s′ → rest n on (again x) (again x (proj₁ l) s′)) ≡
      when-failed r id (λ _ → true) (λ _ s′ → rest n on (going-on x) (going-on x l s′))
    after-a-wait n (well _   , s) l = refl
    after-a-wait n (over _   , s) l = refl
    after-a-wait n (failed _ , s) l = next n l s
    go zero    r              l = refl
    go (suc n) (well _ , s)   l = refl
    go (suc n) (over _ , s)   l = refl
    go (suc n) (failed e , s) l with on e
    ... | false = refl
    ... | true  = after-a-wait n (waiting (asked e) (failed e) s) l
