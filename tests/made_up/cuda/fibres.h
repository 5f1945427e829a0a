// The items of a group, each with a stack of its own: one runs until it comes to a barrier or to its end, then the
// next does. So a barrier that is missing shows as what the others have not written yet.
#pragma once

#include <functional>
#include <stdexcept>

namespace made_up::cuda {

/// A barrier that some items of a group came to and others didn't.
class Divergent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Does `item` for each of `count` items, after `before` with its number whenever the item begins or goes on. With
/// `last_first` the last one begins. Throws Divergent.
void run_group(int count, bool last_first, const std::function<void(int)>& before, const std::function<void()>& item);

/// For an item: waits until all are at this place of the text.
void barrier(int place);

}  // namespace made_up::cuda
