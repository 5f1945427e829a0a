// A host's leading rank among the other hosts' leading ranks: it connects, finds out that all are at the same work, and
// watches.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/host_group.h"

namespace evener::parallel {

/// Something that all hosts of a run have to agree on: {"number of images", "500", "give all hosts the same --data"}.
struct Fact {
  std::string what, value;
  std::string advice;
};

struct HostsOptions {
  int host = 0;  // that this process leads
  int hosts = 1;
  std::vector<Fact> facts;
};

/// What `facts` of the hosts differ in, as one message; "" if in nothing.
std::string difference_of(const std::vector<std::string>& names, const std::vector<std::vector<Fact>>& facts);

class HostLink {
 public:
  /// Connects. Throws Error on every host when they differ in a fact.
  HostLink(const HostsOptions& options, int channels);
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  /// From now on a lost host makes every exchange between hosts throw, and `on_lost` is told why.
  void watch(std::function<void(const std::string& what)> on_lost);
  /// The hosts' end of a channel, for this rank alone; may be asked for once.
  std::unique_ptr<comm::Communicator> channel(int index);
  /// Every host's message, by host: all call it at the same place with their own.
  std::vector<std::string> gather(const std::string& own);
  /// By host.
  const std::vector<std::string>& names() const { return names_; }
  /// When all is done: waits for the other hosts.
  void close() { group_->close(); }

 private:
  std::unique_ptr<comm::HostGroup> group_;
  std::vector<std::unique_ptr<comm::Communicator>> channels_;
  std::unique_ptr<comm::Communicator> messages_;  // a channel of its own
  std::vector<std::string> names_;
};

}  // namespace evener::parallel
