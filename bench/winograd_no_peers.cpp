#include "bench/winograd.h"

namespace evener {

std::vector<Peer> peers() {
  return {};
}

}  // namespace evener
