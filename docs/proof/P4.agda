{-# OPTIONS --safe #-}
-- P4: a run of a program with row E asks only commands of E. The row is the fourth parameter of Python's
-- Program[I, O, A, E], and `run` takes an Interpreter[E]: so each command that a run issues has a handler.
-- That its answer has the right type is in the type of `Setting.answer`.

open import Calculus

module P4 (signature : Signature) (setting : Language.Setting signature) (ladder : Language.Ladder signature) where

open import Data.Bool using (true; false)
open import Data.Empty using (⊥)
open import Data.List using (List; []; _∷_)
open import Data.List.Relation.Unary.All using (All; []; _∷_)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; zero; suc; _≤_)
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Data.Sum using (_⊎_; inj₁; inj₂)
open import Function using (id; _∘_)
open import Relation.Nullary using (yes; no)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; subst; sym)

open Signature signature
open Language signature
open Setting setting
open Run setting ladder

private variable
  A B : Set
  I O J : ℕ

-- What an interpreter can be asked: a command, or a Delay. A row is some of these.
data Request : Set where
  the-command : Command → Request
  Delay       : Request

Row : Set₁
Row = Request → Set

private variable
  E F G : Row

-- Python's `E | F`, `Never`, `E | Delay`, and that E is part of F.
_∣_ : Row → Row → Row
(E ∣ F) r = E r ⊎ F r

Never WithDelay : Row
Never r     = ⊥
WithDelay r = r ≡ Delay

_⊆_ : Row → Row → Set
E ⊆ F = ∀ r → E r → F r

infixl 5 _∣_
infix 4 _⊆_

-- CommandOrAttempt[E, A]: an effect that asks commands of E only, whatever it is answered.
data Effect (E : Row) {A : Set} : Attempt A → Set where
  ended : ∀ {o} → Effect E (ended o)
  asks  : ∀ {c k} → E (the-command c) → (∀ o → Effect E (k o)) → Effect E (asks c k)

-- The same for a function that makes an effect, or raises, and for what a retry tries.
Made : Row → Outcome (Attempt A) → Set
Made E o = ∀ x → o ≡ well x → Effect E x

data Tried (E : Row) {A : Set} : Trying A → Set where
  afresh  : ∀ {x} → (∀ rung → Made E (x rung)) → Tried E (afresh x)
  resumed : ∀ {x} → Effect E x → Tried E (resumed x)

-- `HasRow E p` is Python's `p: Program[I, O, A, E]`: rule by rule, the fourth parameter of the signatures
-- in _writing/programs.py. The last rule is that E is covariant there.
data HasRow : Row → Program I O A → Set₁ where
  at      : ∀ {I} → HasRow Never (at I)
  then    : ∀ {p : Program I O A} {f : A → Outcome (Attempt B)} →
            HasRow E p → (∀ a → Made F (f a)) → HasRow (E ∣ F) (then p f)
  map     : ∀ {p : Program I O A} {f : A → Outcome B} → HasRow E p → HasRow E (map p f)
  or-else : ∀ {p : Program I O A} {on x} → HasRow E p → Effect F x → HasRow (E ∣ F) (or-else p on x)
  bind    : ∀ {exit} {l : J ≤ O} {p : Program I O A} {f : A → Outcome (Program O J B)} →
            HasRow E p → (∀ a q → f a ≡ well q → HasRow F q) → HasRow (E ∣ F) (bind exit l p f)
  or-bind : ∀ {exit} {l : J ≤ O} {p : Program I O A} {on} {f : Failure → Outcome (Program O J A)} →
            HasRow E p → (∀ e q → f e ≡ well q → HasRow F q) → HasRow (E ∣ F) (or-bind exit l p on f)
  join    : ∀ {p : Program I O A} {q : Program O J B} → HasRow E p → HasRow F q → HasRow (E ∣ F) (p >> q)
  or-join : ∀ {p : Program I O A} {on} {q : Program O J A} →
            HasRow E p → HasRow F q → HasRow (E ∣ F) (or-join p on q)
  backoff : ∀ {p : Program I (suc O) A} {on} → HasRow E p → HasRow (E ∣ WithDelay) (backoff p on)
  wait    : ∀ {p : Program I (suc O) A} → HasRow E p → HasRow (E ∣ WithDelay) (wait p)
  skip    : ∀ {p : Program I (suc O) A} → HasRow E p → HasRow E (skip p)
  tries   : ∀ {p : Program I O A} {on} {x : Trying B} →
            HasRow E p → Tried F x → HasRow (E ∣ F ∣ WithDelay) (tries p on x)
  end : ∀ {p : Program I O A} → HasRow E p → HasRow E (end p)
  stands  : ∀ {p : Program I O A} → HasRow E p → HasRow E (stands p)
  wider   : ∀ {p : Program I O A} → E ⊆ F → HasRow E p → HasRow F p

request : Event → Request
request (issued c)     = the-command c
request (waited _ _ _) = Delay

-- Everything until now was in G.
AsksOnly : Row → List Event → Set
AsksOnly G = All (G ∘ request)

-- The proof: what each part of the evaluator keeps. G is the row of the whole program.
module _ (G : Row) where

  Keeps : State → State → Set
  Keeps s s′ = AsksOnly G (history s) → AsksOnly G (history s′)

  well-keeps : ∀ s {pass} {act : A → State → Result B} (r : Result A) → Keeps s (proj₂ r) →
    (∀ s′ → Keeps s′ (pass s′)) → (∀ a s′ → Keeps s′ (proj₂ (act a s′))) → Keeps s (proj₂ (when-well r pass act))
  well-keeps _ (well a   , s) k pass acts h = acts a s (k h)
  well-keeps _ (failed e , s) k pass acts h = pass s (k h)
  well-keeps _ (over e   , s) k pass acts h = k h

  failed-keeps : ∀ s {pass on} {act : Failure → State → Result A} (r : Result A) → Keeps s (proj₂ r) →
    (∀ s′ → Keeps s′ (pass s′)) → (∀ e s′ → Keeps s′ (proj₂ (act e s′))) →
    Keeps s (proj₂ (when-failed r pass on act))
  failed-keeps _ (well a , s) k pass acts h = pass s (k h)
  failed-keeps _ {on = on} (failed e , s) k pass acts h with on e
  ... | true  = acts e s (k h)
  ... | false = pass s (k h)
  failed-keeps _ (over e , s) k pass acts h = k h

  any-keeps : ∀ s {pass} (r : Result A) → Keeps s (proj₂ r) →
    (∀ s′ → Keeps s′ (pass s′)) → Keeps s (proj₂ (in-any-case r pass))
  any-keeps _ (well a   , s) k pass h = pass s (k h)
  any-keeps _ (failed e , s) k pass h = pass s (k h)
  any-keeps _ (over e   , s) k pass h = k h

  left-keeps : ∀ exit J s → Keeps s (left exit J s)
  left-keeps said   J s h = h
  left-keeps unsaid J s h = h

  perform-keeps : {x : Attempt A} → Effect E x → E ⊆ G → ∀ s → Keeps s (proj₂ (perform x s))
  perform-keeps ended l s h = h
  perform-keeps (asks e k) l (state w f r t _) h = perform-keeps (k _) l _ (l _ e ∷ h)

  try-keeps : (o : Outcome (Attempt A)) → Made E o → E ⊆ G → ∀ s → Keeps s (proj₂ (try o s))
  try-keeps (well x)   made l s h = perform-keeps (made x refl) l (one-try s) h
  try-keeps (failed e) made l s h = h
  try-keeps (over e)   made l s h = h

  waiting-keeps : WithDelay ⊆ G → ∀ a (o : Outcome A) s → Keeps s (proj₂ (waiting a o s))
  waiting-keeps l a o (state w f r t _) h = l Delay refl ∷ h

  replay-keeps : {x : Attempt A} → Effect E x → E ⊆ G → ∀ log s → Keeps s (proj₂ (proj₁ (replay x log s)))
  replay-keeps ended l log s h = h
  replay-keeps (asks e k) l [] (state w f r t _) h = replay-keeps (k _) l [] _ (l _ e ∷ h)
  replay-keeps (asks {c = c} e k) l ((d , o) ∷ log) s h with d same c
  ... | yes refl = replay-keeps (k o) l log s h
  ... | no _     = perform-keeps (k _) l s h

  again-keeps : {x : Attempt A} → Effect E x → E ⊆ G → ∀ log s → Keeps s (proj₂ (proj₁ (again x log s)))
  again-keeps {x = x} effect l log s h
    with replay x log (one-try s) | replay-keeps effect l log (one-try s) h
  ... | (well a   , _) , just _  | h′ = h′
  ... | (failed e , _) , just _  | h′ = h′
  ... | (over e   , _) , just _  | h′ = h′
  ... | (well a   , _) , nothing | h′ = h′
  ... | (failed e , _) , nothing | h′ = h′
  ... | (over e   , _) , nothing | h′ = h′

  rest-keeps : ∀ {L : Set} {on} (attempt : L → State → Result A × L) → WithDelay ⊆ G →
    (∀ l s → Keeps s (proj₂ (proj₁ (attempt l s)))) →
    ∀ n s r → Keeps s (proj₂ (proj₁ r)) → Keeps s (proj₂ (rest n on attempt r))
  rest-keeps attempt delay keeps zero s (r , l) k = failed-keeps s r k (λ _ h → h) λ e s′ h → h
  rest-keeps {A = A} attempt delay keeps (suc n) s (r , l) k = failed-keeps s r k (λ _ h → h) λ e s′ →
    failed-keeps s′ (waiting (asked e) (failed e) s′) (waiting-keeps delay (asked e) (failed {A = A} e) s′) (λ _ h → h)
      λ _ s″ → rest-keeps attempt delay keeps n s″ (attempt l s″) (keeps l s″)

  tried-keeps : ∀ {on} (x : Trying A) → Tried E x → E ⊆ G → WithDelay ⊆ G →
    ∀ s → Keeps s (proj₂ (tried-on on x s))
  tried-keeps (afresh x) (afresh made) l delay s =
    rest-keeps (fresh x) delay (λ _ s → try-keeps (x (rung s)) (made (rung s)) l s) (rounds ladder (rung s)) s
      (fresh x _ s) (try-keeps (x (rung s)) (made (rung s)) l s)
  tried-keeps (resumed x) (resumed effect) l delay s =
    rest-keeps (again x) delay (again-keeps effect l) (rounds ladder (rung s)) s
      (again x [] s) (again-keeps effect l [] s)

  mutual
    eval-keeps : (p : Program I O A) → HasRow E p → E ⊆ G → ∀ s → Keeps s (proj₂ (eval p s))
    eval-keeps p (wider m row) l s = eval-keeps p row (λ r → l r ∘ m r) s
    eval-keeps (at I) at l s h = h
    eval-keeps (then p f) (then row made) l s = well-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s)
      (λ _ h → h) λ a → try-keeps (f a) (made a) (λ r → l r ∘ inj₂)
    eval-keeps (map p f) (map row) l s = well-keeps s (eval p s) (eval-keeps p row l s) (λ _ h → h) λ a s′ h → h
    eval-keeps (or-else p on x) (or-else row effect) l s =
      failed-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s)
        (λ _ h → h) λ e s′ → perform-keeps effect (λ r → l r ∘ inj₂) (one-try s′)
    eval-keeps (bind exit _ p f) (bind row made) l s =
      well-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s) (left-keeps exit _) λ a s′ →
        any-keeps s′ (enter (f a) s′) (enter-keeps (f a) (made a) (λ r → l r ∘ inj₂) s′) (left-keeps exit _)
    eval-keeps (or-bind exit _ p on f) (or-bind row made) l s =
      failed-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s) (left-keeps exit _) λ e s′ →
        any-keeps s′ (enter (f e) s′) (enter-keeps (f e) (made e) (λ r → l r ∘ inj₂) s′) (left-keeps exit _)
    eval-keeps (p >> q) (join row row′) l s = well-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s)
      (λ _ h → h) λ _ → eval-keeps q row′ (λ r → l r ∘ inj₂)
    eval-keeps (or-join p on q) (or-join row row′) l s =
      failed-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s)
        (λ _ h → h) λ _ → eval-keeps q row′ (λ r → l r ∘ inj₂)
    eval-keeps {A = A} (backoff p on) (backoff row) l s =
      failed-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s)
        (λ _ h → h) λ e → waiting-keeps (λ r → l r ∘ inj₂) (asked e) (failed {A = A} e)
    eval-keeps (wait p) (wait row) l s = well-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁) s)
      (λ _ h → h) λ a → waiting-keeps (λ r → l r ∘ inj₂) 0 (well a)
    eval-keeps (skip p) (skip row) l s = any-keeps s (eval p s) (eval-keeps p row l s) λ _ h → h
    eval-keeps (tries p on x) (tries row effect) l s =
      well-keeps s (eval p s) (eval-keeps p row (λ r → l r ∘ inj₁ ∘ inj₁) s)
        (λ _ h → h) λ _ → tried-keeps x effect (λ r → l r ∘ inj₁ ∘ inj₂) (λ r → l r ∘ inj₂)
    eval-keeps (end p) (end row) l s = any-keeps s (eval p s) (eval-keeps p row l s) λ _ h → h
    eval-keeps (stands p) (stands row) l s = any-keeps s (eval p s) (eval-keeps p row l s) λ _ h → h

    enter-keeps : (o : Outcome (Program I O A)) → (∀ q → o ≡ well q → HasRow E q) → E ⊆ G →
      ∀ s → Keeps s (proj₂ (enter o s))
    enter-keeps (well q)   made l s = eval-keeps q (made q refl) l s
    enter-keeps (failed e) made l s h = h
    enter-keeps (over e)   made l s h = h

-- THE THEOREM
a-run-asks-only-commands-of-its-row : (p : Program top O A) → HasRow E p → ∀ w → AsksOnly E (done p w)
a-run-asks-only-commands-of-its-row p row w = eval-keeps _ p row (λ _ → id) (begin w) []
