#include "chaos/broker.hpp"

#include "programs/ends.hpp"

namespace tenure::chaos {

test::Program::Arguments Broker::wordsFor(const std::string& port) const {
  return {"broker-port=" + port, "broker-password=" + server_.passwordFile(test::RabbitServer::password).string()};
}

std::int64_t Broker::count(const std::string& what) const {
  const std::string answer = server_.evaluate(
      "begin {ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"" + std::string(test::chaosQueue) +
      "\">>)), proplists:get_value(" + what + ", rabbit_amqqueue:info(Q, [" + what + "])) end");
  return std::stoll(answer);
}

}  // namespace tenure::chaos
