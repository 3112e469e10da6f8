// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// A token whose logs are not what moves: it keeps 2 % and logs the whole, or logs twice what moves once.
contract MisloggingToken {
    string public constant name = "Mislogging token";
    string public constant symbol = "MIS";
    uint8 public constant decimals = 18;
    mapping(address account => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - value / 50;
        emit Transfer(msg.sender, to, value);
        return true;
    }

    function transferLoggedTwice(address to, uint256 value) external {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        emit Transfer(msg.sender, to, value);
    }

    function logOnly(address to, uint256 value) external {
        emit Transfer(msg.sender, to, value);
    }
}
