// Computes small networks of windows alone (convolutions without padding, PReLUs, max-pools) for images of any size,
// without compiling anything for a size and without keeping more of an image than the rows under a window.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "network/network.h"

namespace evener::engine {

/// What an output of the network came to: (channels, rows, columns).
struct WindowOutput {
  std::string name;
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::vector<float> values;
};

/// Computes on the thread that calls it, in float32. Not thread-safe.
class WindowNetwork {
 public:
  /// Why it can't compute a network; "" if it can.
  static std::string refusal(const network::Network& network);

  /// Throws Error with the refusal, or naming a tensor that `state` lacks or that has another shape.
  WindowNetwork(const network::Network& network, const TensorMap& state);
  ~WindowNetwork();

  /// Writes a row of the image, plane by plane; asked for once for each row, in their order.
  using ReadRow = std::function<void(std::int64_t row, std::span<float* const> planes)>;
  /// The outputs for an image of this size, in the order of the network's; valid until the next call. An image that is
  /// smaller than a window gives none of its places: rows and columns are 0.
  const std::vector<WindowOutput>& run(std::int64_t height, std::int64_t width, const ReadRow& read);

 private:
  struct Stage;
  void set_size(std::int64_t height, std::int64_t width);
  bool can_go_on(const Stage& stage) const;
  void make_row(Stage& stage);
  void hand_on(int stage);

  std::vector<Stage> stages_;  // the image first, in topological order
  std::vector<WindowOutput> outputs_;
  std::vector<float> scratch_;
};

}  // namespace evener::engine
