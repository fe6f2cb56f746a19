{-# OPTIONS --safe #-}
-- P2: a program from rung I to rung O waits at most I - O times, whatever is put into its steps, and
-- the numbers of its waits are what its index says. With or without a floor. Of FOREVER, see Forever.

open import Calculus

module P2 (signature : Signature) (setting : Language.Setting signature) where

open import Data.List using (List; []; _∷_; length)
open import Data.List.Relation.Unary.All using (All; []; _∷_)
open import Data.List.Relation.Unary.Linked using (Linked; []; [-]; _∷_; tail)
open import Data.Nat
open import Data.Nat.Properties
open import Data.Product using (proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; subst)

open Signature signature
open Language signature
open Setting setting
open Run setting ends
open import Walks signature setting ends
open import Rungs signature setting using (it-starts-at-its-index)

private variable
  A : Set
  I O : ℕ

-- A walk that waits n times goes down n rungs at least.
each-wait-takes-a-rung : ∀ {s s′} → s ↝ s′ →
  length (waits (history s′)) + rung s′ ≤ length (waits (history s)) + rung s
each-wait-takes-a-rung stay            = ≤-refl
each-wait-takes-a-rung (issue q)       = each-wait-takes-a-rung q
each-wait-takes-a-rung (begin-a-try q) = each-wait-takes-a-rung q
each-wait-takes-a-rung (pause {r = r} {h = h} q _) =
  ≤-trans (≤-reflexive (sym (+-suc (length (waits h)) r))) (each-wait-takes-a-rung q)
each-wait-takes-a-rung (lower {h = h} q l) =
  ≤-trans (+-monoʳ-≤ (length (waits h)) l) (each-wait-takes-a-rung q)

minus : ∀ m {n o} → m + n ≤ o → m ≤ o ∸ n
minus m {n} l = subst (_≤ _) (m+n∸n≡m m n) (∸-monoˡ-≤ n l)

-- THE THEOREM
a-program-from-I-to-O-waits-at-most-I-minus-O-times :
  (p : Program top O A) (w : World) → length (waits (done p w)) ≤ top ∸ O
a-program-from-I-to-O-waits-at-most-I-minus-O-times p w =
  minus _ (≤-trans (+-monoʳ-≤ _ (above (the-walk p w))) (each-wait-takes-a-rung (path (the-walk p w))))

-- What `run` takes ends at N0.
a-program-that-can-run-waits-at-most-as-often-as-its-first-rung-says :
  (p : Program top 0 A) (w : World) → length (waits (done p w)) ≤ top
a-program-that-can-run-waits-at-most-as-often-as-its-first-rung-says =
  a-program-from-I-to-O-waits-at-most-I-minus-O-times

-- The same for a piece of a program, wherever it is joined to others: it begins on its own first rung.
a-piece-from-I-to-O-waits-at-most-I-minus-O-times-more : (p : Program I O A) (s : State) → I ≤ rung s →
  length (waits (history (proj₂ (eval p s)))) + O ≤ length (waits (history s)) + I
a-piece-from-I-to-O-waits-at-most-I-minus-O-times-more {I = I} p s l rewrite it-starts-at-its-index p s =
  ≤-trans (+-monoʳ-≤ _ (above it)) (each-wait-takes-a-rung (path it))
  where it = walks p (to I s) ≤-refl


-- The wait on a rung has the number k = top - rung; the default schedule waits 2 ^ k seconds.
Numbered : Event → Set
Numbered (issued c)     = ⊤
Numbered (waited r k s) = r + k ≡ top

numbered : ∀ {s s′} → s ↝ s′ → rung s ≤ top → All Numbered (history s) → All Numbered (history s′)
numbered stay            l x = x
numbered (issue q)       l x = tt ∷ numbered q l x
numbered (begin-a-try q) l x = numbered q l x
numbered (pause q _)     l x = m+[n∸m]≡n (≤-trans (nothing-goes-up q) l) ∷ numbered q l x
numbered (lower q _)     l x = numbered q l x

the-number-of-a-wait-is-the-top-minus-its-rung : (p : Program top O A) (w : World) → All Numbered (done p w)
the-number-of-a-wait-is-the-top-minus-its-rung p w = numbered (path (the-walk p w)) ≤-refl []

-- No number comes twice.
grown : ∀ {a b xs} → a ≤ b → Linked _>_ (a ∷ xs) → Linked _>_ (b ∷ xs)
grown l [-]      = [-]
grown l (g ∷ gs) = ≤-trans g l ∷ gs

growing : ∀ {s s′} → s ↝ s′ → rung s ≤ top →
  Linked _>_ (top ∸ rung s ∷ ks (history s)) → Linked _>_ (top ∸ rung s′ ∷ ks (history s′))
growing stay            l x = x
growing (issue q)       l x = growing q l x
growing (begin-a-try q) l x = growing q l x
growing (pause q _)     l x = ∸-monoʳ-< ≤-refl (≤-trans (nothing-goes-up q) l) ∷ growing q l x
growing (lower q d)     l x = grown (∸-monoʳ-≤ top d) (growing q l x)

the-numbers-of-the-waits-grow : (p : Program top O A) (w : World) → Linked _>_ (ks (done p w))
the-numbers-of-the-waits-grow p w = tail (growing (path (the-walk p w)) ≤-refl [-])
