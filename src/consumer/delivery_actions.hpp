/// A delivery's questions, as the lane asks them of its shell.
#pragma once

#include <utility>
#include <variant>

#include "consumer/actions.hpp"
#include "consumer/delivery.hpp"

namespace tenure::consuming {

/// Calls for the alternatives of a variant.
template <class... Calls>
struct Each : Calls... {
  using Calls::operator()...;
};
template <class... Calls>
Each(Calls...) -> Each<Calls...>;

inline Action actionOf(Delivery::Question question, const MessagePtr& of) {
  using D = Delivery;
  return std::visit(Each{[&](D::LooksUpKey&) -> Action { return Look{of}; },
                         [&](D::AdmitsKey& how) -> Action {
                           return Admit{of, how.mark};
                         },
                         [&](D::TakesToken& how) -> Action {
                           return TakeTurn{of->group, how.isFirstOfAll};
                         },
                         [&](D::AsksOperator&) -> Action { return Inquire{}; },
                         [&](D::Begins&) -> Action {
                           return Begin{of.place(), of->group};
                         },
                         [&](D::Gathers& how) -> Action {
                           return Gather{of, how.attempt, how.putOffSince};
                         },
                         [&](D::Runs& how) -> Action {
                           return Handle{of, how.attempt, how.mark};
                         },
                         [&](D::Undoes&) -> Action { return Abandon{.toMark = true}; },
                         [&](D::Dies& how) -> Action {
                           return WriteDeadLetter{of, std::move(how)};
                         },
                         [&](D::StartsOver&) -> Action { return Abandon{}; }},
                    question);
}

}  // namespace tenure::consuming
