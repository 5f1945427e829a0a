// Connects the leading rank of each host with those of the other hosts, checks that all hosts do the same work, and
// watches for lost hosts.
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
  int host = 0;  // this process's host
  int hosts = 1;
  std::vector<Fact> facts;
};

/// One message about the facts in which hosts differ; "" if they agree. names[h] and facts[h] belong to host h.
std::string difference_of(const std::vector<std::string>& names, const std::vector<std::vector<Fact>>& facts);

class HostLink {
 public:
  /// Connects. Throws Error on every host when they differ in a fact.
  HostLink(const HostsOptions& options, int channels);
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  /// From now on the loss of a host makes every exchange between hosts throw, and calls `on_lost` with the reason.
  void watch(std::function<void(const std::string& what)> on_lost);
  /// This rank's end of channel `index` between the hosts. Each index may be asked for once.
  std::unique_ptr<comm::Communicator> channel(int index);
  /// A collective: each host gives its own message and gets those of all hosts, by host.
  std::vector<std::string> gather(const std::string& own);
  /// The hosts' names, by host.
  const std::vector<std::string>& names() const { return names_; }
  /// Waits for the other hosts at the end of the run, so that a host that ends first isn't taken for lost.
  void close() { group_->close(); }

 private:
  std::unique_ptr<comm::HostGroup> group_;
  std::vector<std::unique_ptr<comm::Communicator>> channels_;
  std::unique_ptr<comm::Communicator> messages_;  // a channel of its own
  std::vector<std::string> names_;
};

}  // namespace evener::parallel
