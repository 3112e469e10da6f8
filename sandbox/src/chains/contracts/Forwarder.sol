// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Sends native coin on from a contract, which leaves no transaction to the receiver and no log.
contract Forwarder {
    function forward(address payable to) external payable {
        (bool isSent,) = to.call{value: msg.value}("");
        require(isSent, "not sent");
    }
}
