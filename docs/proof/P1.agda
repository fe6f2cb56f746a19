{-# OPTIONS --safe #-}
-- P1: no wait is shorter than the one before it. For every program, every world, every schedule and
-- every Retry-After; on a ladder that ends, and on one that does not. `keeps` says that there is a floor.

open import Calculus
open import Data.Nat using (ℕ; _≤_)

module P1 (signature : Signature) (setting : Language.Setting signature) (ladder : Language.Ladder signature)
          (keeps : ∀ floor seconds → floor ≤ Language.Setting.lengthen setting floor seconds) where

open import Data.List using (List; []; _∷_; _++_)
open import Data.List.Relation.Unary.All using (All; []; _∷_)
open import Data.List.Relation.Unary.Linked using (Linked; []; [-]; _∷_; tail)
open import Data.Nat using (_≥_; _⊔_)
open import Data.Nat.Properties
open import Data.Product using (Σ; _×_; _,_; proj₁; proj₂)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; cong)

open Signature signature
open Language signature
open Setting setting
open Run setting ladder
open import Walks signature setting ladder

private variable
  A B : Set
  I O J : ℕ

-- Newest first, so each wait is at least as long as the one behind it in the list.
NeverShorter : List Event → Set
NeverShorter h = Linked _≥_ (waits h)

-- The proof: the floor is as high as any wait before. A walk keeps that.
raised : ∀ {a b xs} → a ≤ b → Linked _≥_ (a ∷ xs) → Linked _≥_ (b ∷ xs)
raised l [-]      = [-]
raised l (g ∷ gs) = ≤-trans g l ∷ gs

floor-is-highest : ∀ {s s′} → s ↝ s′ →
  Linked _≥_ (floor s ∷ waits (history s)) → Linked _≥_ (floor s′ ∷ waits (history s′))
floor-is-highest stay            x = x
floor-is-highest (issue q)       x = floor-is-highest q x
floor-is-highest (begin-a-try q) x = floor-is-highest q x
floor-is-highest (pause q _)     x = ≤-refl ∷ raised (keeps _ _) (floor-is-highest q x)
floor-is-highest (lower q _)     x = floor-is-highest q x

-- THE THEOREM
no-wait-is-shorter-than-the-one-before-it : (p : Program top O A) (w : World) → NeverShorter (done p w)
no-wait-is-shorter-than-the-one-before-it p w = tail (floor-is-highest (path (the-walk p w)) [-])


-- The same for a piece of a program, wherever it stands in a run: composition keeps the floor.

the-floor-never-falls : ∀ {s s′} → s ↝ s′ → floor s ≤ floor s′
the-floor-never-falls stay            = ≤-refl
the-floor-never-falls (issue q)       = the-floor-never-falls q
the-floor-never-falls (begin-a-try q) = the-floor-never-falls q
the-floor-never-falls (pause q _)     = ≤-trans (the-floor-never-falls q) (keeps _ _)
the-floor-never-falls (lower q _)     = the-floor-never-falls q

-- What is new in s′ are waits that are no shorter than the floor of s.
NewWaitsKeepTheFloorOf : State → State → Set
NewWaitsKeepTheFloorOf s s′ =
  Σ (List ℕ) λ new → waits (history s′) ≡ new ++ waits (history s) × All (floor s ≤_) new

kept : ∀ {s s′} → s ↝ s′ → NewWaitsKeepTheFloorOf s s′
kept stay            = [] , refl , []
kept (issue q)       = kept q
kept (begin-a-try q) = kept q
kept (pause q _)     = let new , here , all = kept q in
  _ ∷ new , cong (_ ∷_) here , ≤-trans (the-floor-never-falls q) (keeps _ _) ∷ all
kept (lower q _)     = kept q

a-piece-keeps-the-floor-of-what-was-before : (p : Program I O A) (s : State) → I ≤ rung s →
  NewWaitsKeepTheFloorOf s (proj₂ (eval p s))
a-piece-keeps-the-floor-of-what-was-before p s l = kept (path (walks p s l))

the-floor-holds-across-a-join : (p : Program I O A) (q : Program O J B) (s : State) → I ≤ rung s →
  NewWaitsKeepTheFloorOf (proj₂ (eval p s)) (proj₂ (eval (p >> q) s))
the-floor-holds-across-a-join p q s l with eval p s | walks p s l
... | well _   , s₁ | _ & l₁ = a-piece-keeps-the-floor-of-what-was-before q s₁ l₁
... | failed _ , s₁ | _      = [] , refl , []
... | over _   , s₁ | _      = [] , refl , []
