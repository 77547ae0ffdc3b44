#include "support/events.hpp"
